package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func (a *app) newVerify() *cobra.Command {
	format := &formatFlags{}
	cmd := &cobra.Command{
		Use:   "verify [OPTIONS] ARTIFACT",
		Short: "Check that an artifact is whole, and fits the providers here",
		Long: "Check an artifact: its form, its graph, that it hashes to what it says, and that the providers here are\n" +
			"compatible with those that it pins.",
		Args: arguments(1, "ARTIFACT"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer w.Close()
			data, err := w.readArtifact(args[0])
			if err != nil {
				return err
			}
			verified, err := w.engine.Verify(data, engine.ArtifactOptions{})
			if err != nil {
				return inArtifact(args[0], err)
			}
			if format.json {
				return printJSON(a.out, newArtifactFile(args[0], data, verified).document())
			}
			return a.out.verdict("ok", oneLine(args[0])+": hash and provider pins verified")
		},
	}
	format.registerJSON(cmd)
	return cmd
}

func (w *workspace) readArtifact(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("the name of the artifact is empty")
	}
	return w.Read("the artifact", name, ir.DefaultArtifactBytes)
}

// inArtifact names the file that an error is about.
func inArtifact(name string, err error) error {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.File, named.Message = name, oneLine(name)+": "+e.Message
	return &named
}
