package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// shownHash is how many digits of a hash people are shown.
const shownHash = 12

func (a *app) newBuild() *cobra.Command {
	config, format := &configFlags{}, &formatFlags{}
	var to string
	cmd := &cobra.Command{
		Use:   "build [OPTIONS] [CONFIG]",
		Short: "Evaluate a config and write what came out of it as one file",
		Long: "Evaluate a config, or the one that " + project.FileName + " names, and write it as an artifact: one file, the\n" +
			"same bytes everywhere, that can be verified, planned and deployed without the config.",
		Args: arguments(0, "CONFIG"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := argument(args)
			if err != nil {
				return err
			}
			w, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer w.Close()
			result, err := w.evaluate(cmd.Context(), config, cmd.Flags(), given)
			if err != nil {
				return err
			}
			built, err := w.build(result, to)
			if err != nil {
				return err
			}
			return a.printBuilt(format.json, result, built)
		},
	}
	config.register(cmd)
	cmd.Flags().StringVarP(&to, "output", "o", "out.atlas", "write to `FILE`")
	format.registerJSON(cmd)
	return cmd
}

// artifactFile is an artifact as it lies in a file.
type artifactFile struct {
	name     string // as it was given
	checksum string // hex SHA-256 of the file
	bytes    int
	*ir.Artifact
}

// build writes the artifact of a config. Nothing is written unless all of it can be.
func (w *workspace) build(e *evaluated, to string) (*artifactFile, error) {
	file, err := output(w.Project, "the artifact", to, e.Config)
	if err != nil {
		return nil, err
	}
	pins, err := engine.ComponentPins(w.tree)
	if err != nil {
		return nil, w.Renamed(err, "")
	}
	data, err := w.engine.Build(e.Compilation, engine.BuildOptions{ComponentPins: pins})
	if err != nil {
		return nil, w.Renamed(err, e.Config)
	}
	if err := file.save(data); err != nil {
		return nil, err
	}
	return newArtifactFile(to, data, ir.NewArtifact(e.Compilation, pins)), nil
}

func newArtifactFile(name string, data []byte, a *ir.Artifact) *artifactFile {
	sum := sha256.Sum256(data)
	return &artifactFile{name: name, checksum: hex.EncodeToString(sum[:]), bytes: len(data), Artifact: a}
}

func (a *app) printBuilt(asJSON bool, e *evaluated, built *artifactFile) error {
	if asJSON {
		for _, warning := range e.Warnings {
			printWarning(a.err, warning)
		}
		document := built.document()
		document.Config = e.Config
		document.Diagnostics = diagnosticBodies(e.Warnings)
		return printJSON(a.out, document)
	}
	for _, warning := range e.Warnings {
		printWarning(a.out, warning)
	}
	return a.out.verdict("built", built.summary())
}

// summary is the line of a built artifact (cli.md 15).
func (f *artifactFile) summary() string {
	text := fmt.Sprintf("%s — %d nodes, hash %s…, pins %s", oneLine(f.name), len(f.Document.Nodes), f.Hash[:shownHash], pinsText(f.Pins, 0))
	if len(f.ComponentPins) > 0 {
		text += ", components " + pinsText(f.ComponentPins, shownHash)
	}
	return text
}

// pinsText writes pins as a config would, each cut to so many characters, 0 = whole.
func pinsText(pins map[string]string, cut int) string {
	shown := make(map[string]any, len(pins))
	for name, pin := range pins {
		if cut > 0 && len(pin) > cut {
			pin = pin[:cut] + "…"
		}
		shown[name] = pin
	}
	return model.Repr(shown)
}

// artifactDocument is what build and verify print as JSON.
type artifactDocument struct {
	SchemaVersion int               `json:"schema_version"`
	OK            bool              `json:"ok"`
	Artifact      string            `json:"artifact"`
	Config        string            `json:"config,omitempty"` // of build
	Nodes         int               `json:"nodes"`
	IRHash        string            `json:"ir_hash"`
	SHA256        string            `json:"sha256"`
	Bytes         int               `json:"bytes"`
	ProviderPins  map[string]string `json:"provider_pins"`
	ComponentPins map[string]string `json:"component_pins"`
	Envs          envsOfRun         `json:"envs"`
	Diagnostics   []diagnosticBody  `json:"diagnostics,omitempty"`
}

func (f *artifactFile) document() artifactDocument {
	return artifactDocument{
		SchemaVersion: schemaVersion, OK: true, Artifact: f.name,
		Nodes: len(f.Document.Nodes), IRHash: f.Hash, SHA256: f.checksum, Bytes: f.bytes,
		ProviderPins: present(f.Pins), ComponentPins: present(f.ComponentPins),
		Envs: newEnvsOfRun(f.EnvsDeclared, f.EnvsSelected),
	}
}

// present is {} where there is nothing.
func present(pins map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, pins)
	return out
}

// verdict writes the closing line of a command, its first word in the colour of success.
func (s screen) verdict(word, text string) error {
	_, err := fmt.Fprintln(s, s.in(good, word)+strings.TrimPrefix(s.wrapped(word+" "+text), word))
	return err
}
