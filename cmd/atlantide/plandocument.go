package main

import (
	"encoding/json"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// planDocument is what plan prints as JSON (cli.md 8). The document of a plan that was
// refused is a failure with the plan beside the error.
type planDocument struct {
	SchemaVersion int              `json:"schema_version"`
	OK            bool             `json:"ok"`
	Error         *failureBody     `json:"error,omitempty"`
	Summary       json.RawMessage  `json:"summary"`
	Inputs        json.RawMessage  `json:"inputs"`
	Envs          json.RawMessage  `json:"envs"`
	Changes       json.RawMessage  `json:"changes"`
	Outputs       json.RawMessage  `json:"outputs"`
	Violations    json.RawMessage  `json:"violations"`
	Warnings      json.RawMessage  `json:"warnings"`
	Blocked       json.RawMessage  `json:"blocked"`
	Secrets       json.RawMessage  `json:"secrets,omitempty"` // "skipped"
	Digest        string           `json:"digest,omitempty"`
	DryRun        *bool            `json:"dry_run,omitempty"` // of an apply that ended after its plan,
	Applied       *bool            `json:"applied,omitempty"` // and of nothing else
	State         string           `json:"state"`
	Diagnostics   []diagnosticBody `json:"diagnostics,omitempty"`
}

// printPlanDocument prints a plan; of further, what a plan alone does not say is taken. A
// plan that is refused ends the command.
func (a *app) printPlanDocument(p *planned, values bool, further planDocument) error {
	digest, err := p.digest()
	if err != nil {
		return err
	}
	for _, warning := range p.evaluated.Warnings {
		printWarning(a.err, warning)
	}
	payload := p.Payload()
	if values {
		payload = p.PayloadWithValues()
	}
	document, err := newPlanDocument(payload)
	if err != nil {
		return err
	}
	document.Digest, document.State = digest, p.label
	document.DryRun, document.Applied = further.DryRun, further.Applied
	document.Diagnostics = diagnosticBodies(p.evaluated.Warnings)
	if p.refused != nil {
		failed := failure(p.refused)
		document.OK, document.Error = false, &failed.Error
		document.Diagnostics = append(failed.Diagnostics, document.Diagnostics...)
	}
	if err := printJSON(a.out, document); err != nil {
		return err
	}
	if p.refused != nil {
		return silentError(exitError)
	}
	return nil
}

func newPlanDocument(payload map[string]any) (*planDocument, error) {
	d := &planDocument{SchemaVersion: schemaVersion, OK: true}
	for key, at := range map[string]*json.RawMessage{
		"summary": &d.Summary, "inputs": &d.Inputs, "envs": &d.Envs, "changes": &d.Changes, "outputs": &d.Outputs,
		"violations": &d.Violations, "warnings": &d.Warnings, "blocked": &d.Blocked, "secrets": &d.Secrets,
	} {
		value, found := payload[key]
		if !found {
			continue
		}
		data, err := model.EncodeJSON(value)
		if err != nil {
			return nil, err
		}
		*at = data
	}
	return d, nil
}
