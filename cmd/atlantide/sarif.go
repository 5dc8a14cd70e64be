package main

import (
	"io"
	"net/url"
	"slices"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homepage     = "https://github.com/atlantide-org/atlantide-operator"
)

// printSARIF writes a log of one run (SARIF 2.1.0). A run that found nothing is one
// without results, which closes what an earlier one opened. What has no place in a file,
// as an error in the command line, is a notification: code hosts refuse a result without
// one.
func printSARIF(w io.Writer, at repository, list []model.Diagnostic, succeeded bool) error {
	run := sarifRun{
		Tool:        sarifTool{Driver: sarifDriver{Name: "atlantide", Version: version, InformationURI: homepage, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: succeeded}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	for _, d := range list {
		if d.File == "" {
			run.notify(d)
			continue
		}
		index := slices.IndexFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == string(d.Code) })
		if index < 0 {
			index = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: string(d.Code), ShortDescription: sarifText{ruleText(d.Code)}})
		}
		run.Results = append(run.Results, sarifResultOf(at, d, index))
	}
	return printJSON(w, sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}})
}

// notify adds a diagnostic that has no place to what the tool says of its run.
func (run *sarifRun) notify(d model.Diagnostic) {
	known := &run.Tool.Driver.Notifications
	index := slices.IndexFunc(*known, func(r sarifRule) bool { return r.ID == string(d.Code) })
	if index < 0 {
		index = len(*known)
		*known = append(*known, sarifRule{ID: string(d.Code), ShortDescription: sarifText{ruleText(d.Code)}})
	}
	said := &run.Invocations[0].Notifications
	*said = append(*said, sarifNotification{
		Descriptor: sarifDescriptor{ID: string(d.Code), Index: index}, Level: string(d.Severity), Message: textOf(d),
	})
}

func textOf(d model.Diagnostic) sarifText {
	if d.Hint == "" {
		return sarifText{d.Message}
	}
	return sarifText{d.Message + "; " + d.Hint}
}

func sarifResultOf(at repository, d model.Diagnostic, rule int) sarifResult {
	result := sarifResult{
		RuleID: string(d.Code), RuleIndex: rule, Level: string(d.Severity), Message: textOf(d),
		Locations: []sarifLocation{{PhysicalLocation: physical(at, d.Place)}},
	}
	for _, r := range d.Related {
		if r.File == "" {
			continue
		}
		result.RelatedLocations = append(result.RelatedLocations, sarifLocation{
			ID: len(result.RelatedLocations) + 1, PhysicalLocation: physical(at, r.Place), Message: &sarifText{r.Message},
		})
	}
	return result
}

// physical is where a place lies. Columns count code points, and an end is behind the
// last character, as ours do.
func physical(at repository, p model.Place) sarifPhysical {
	path, inside := at.path(p.File)
	uri := url.URL{Path: path}
	artifact := sarifArtifact{URIBaseID: "%SRCROOT%"}
	if !inside {
		uri.Scheme, artifact.URIBaseID = "file", ""
	}
	artifact.URI = uri.String()
	if p.Line <= 0 {
		return sarifPhysical{ArtifactLocation: artifact}
	}
	region := &sarifRegion{StartLine: p.Line, StartColumn: p.Col, EndLine: p.EndLine, EndColumn: p.EndCol}
	if p.Source != "" {
		region.Snippet = &sarifText{p.Source}
	}
	return sarifPhysical{ArtifactLocation: artifact, Region: region}
}

// ruleText says what a code is about.
func ruleText(code model.Kind) string {
	switch code {
	case model.LanguageError:
		return "The config is not Atlas-lang, or its evaluation failed"
	case model.FuelExhaustedError:
		return "The evaluation takes more steps than it may"
	case model.IRError:
		return "A value cannot be part of the compiled config"
	case model.RegistryError:
		return "A declaration conflicts with another, or names what does not exist"
	case model.CycleError:
		return "Resources depend on one another in a circle"
	case model.StackOutputCycleError:
		return "Stack outputs refer to one another in a circle"
	case model.ComponentError:
		return "A component cannot be used, or is not what its lock pins"
	case model.PolicyConfigError:
		return "A policy is declared wrongly"
	case model.InterruptedRunError:
		return "The run was interrupted"
	case model.HandleInText:
		return "A handle was written into a text, which holds its name and not its value"
	case model.HandleDecides:
		return "A handle was asked what only its value could tell, which is known at apply"
	case model.PolicyWithoutEffect:
		return "A policy is enforced in a way that judges nothing, or not what was meant"
	case model.IgnoredFieldUnknown:
		return "A change to be ignored names no field of the resource's type"
	case project.UnreadInput:
		return "An input was given that the config does not read"
	case project.MistypedInput:
		return "An input was given as text in place of something else"
	case model.PolicyViolationError:
		return "A mandatory policy objects to the plan"
	}
	return "The command failed"
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
	Notifications  []sarifRule `json:"notifications,omitempty"` // kinds of them
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Descriptor sarifDescriptor `json:"descriptor"`
	Level      string          `json:"level"`
	Message    sarifText       `json:"message"`
}

type sarifDescriptor struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
}

type sarifResult struct {
	RuleID           string          `json:"ruleId"`
	RuleIndex        int             `json:"ruleIndex"`
	Level            string          `json:"level"`
	Message          sarifText       `json:"message"`
	Locations        []sarifLocation `json:"locations"`
	RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
}

type sarifLocation struct {
	ID               int           `json:"id,omitempty"`
	PhysicalLocation sarifPhysical `json:"physicalLocation"`
	Message          *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine   int        `json:"startLine"`
	StartColumn int        `json:"startColumn,omitempty"`
	EndLine     int        `json:"endLine,omitempty"`
	EndColumn   int        `json:"endColumn,omitempty"`
	Snippet     *sarifText `json:"snippet,omitempty"`
}

type sarifText struct {
	Text string `json:"text"`
}
