package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/graph"
	"github.com/atlantide-org/atlantide-operator/engine/graph/draw"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// The forms of a graph.
const (
	graphMermaid = "mermaid"
	graphDOT     = "dot"
	graphSVG     = "svg"
)

var graphForms = []string{graphMermaid, graphDOT, graphSVG}

func (a *app) newGraph() *cobra.Command {
	config, place := &configFlags{}, &stateFlags{}
	var form, to string
	var withPlan bool
	cmd := &cobra.Command{
		Use:   "graph [OPTIONS] [CONFIG|FILE" + artifactSuffix + "]",
		Short: "Print what depends on what, as text or as a picture",
		Long: "Print the graph of a config, of the one that " + project.FileName + " names, or of an artifact: for Mermaid, for\n" +
			"Graphviz (dot), or as a picture (svg).",
		Args: arguments(0, "CONFIG"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if place.path != "" && !withPlan {
				return model.Errorf(model.AtlantideError, model.ClassUser, "--state is what a plan compares with; give --plan as well")
			}
			render, ok := renderings[strings.ToLower(form)]
			if !ok {
				return notOneOf("--format", form, graphForms)
			}
			w, e, err := a.subject(cmd, config, args)
			if err != nil {
				return err
			}
			defer w.Close()
			for _, warning := range e.Warnings {
				printWarning(a.err, warning)
			}
			var marks map[string]graph.Mark
			var refused error
			if withPlan {
				if marks, refused = a.marks(cmd.Context(), w, e, place); marks == nil {
					return refused
				}
			}
			text, err := w.render(cmd.Context(), e, marks, render)
			if err != nil {
				return err
			}
			if err := a.deliver(w, e, text, to, cmd.Flags().Changed("output")); err != nil {
				return err
			}
			return refused
		},
	}
	config.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&form, "format", graphMermaid, "print as `FORMAT`: "+strings.Join(graphForms, ", "))
	place.register(cmd)
	flags.BoolVar(&withPlan, "plan", false, "colour what a plan would create, update, replace or delete; secrets are not looked up")
	flags.StringVarP(&to, "output", "o", "", "write to `FILE` (default standard output)")
	completeFrom(cmd, "format", func() []string { return graphForms })
	return cmd
}

// rendering turns a graph into what is printed, a line end behind the last line included.
type rendering func(ctx context.Context, g *graph.Graph, marks map[string]graph.Mark) ([]byte, error)

var renderings = map[string]rendering{
	graphMermaid: func(_ context.Context, g *graph.Graph, marks map[string]graph.Mark) ([]byte, error) {
		return []byte(graph.Mermaid(g, marks) + "\n"), nil
	},
	graphDOT: func(_ context.Context, g *graph.Graph, marks map[string]graph.Mark) ([]byte, error) {
		return []byte(graph.DOT(g, marks) + "\n"), nil
	},
	graphSVG: draw.SVG,
}

func (w *workspace) render(ctx context.Context, e *evaluated, marks map[string]graph.Mark, render rendering) ([]byte, error) {
	g, err := w.engine.Graph(e.Compilation)
	if err != nil {
		return nil, w.Renamed(err, e.Config)
	}
	return render(ctx, g, marks)
}

// marks are what a plan would do. Of a plan that is refused they come beside the error.
func (a *app) marks(ctx context.Context, w *workspace, e *evaluated, place *stateFlags) (map[string]graph.Mark, error) {
	at, err := a.target(ctx, w.Project, place, a.err)
	if err != nil {
		return nil, err
	}
	defer at.close()
	p, err := w.plan(ctx, e, &planFlags{secrets: secretsSkip, onFailure: plan.OnFailureRollback}, at)
	if err != nil {
		return nil, err
	}
	return engine.Marks(p.Plan), p.refused
}

// deliver prints a text, or puts it into the file that was asked for.
func (a *app) deliver(w *workspace, e *evaluated, text []byte, to string, toFile bool) error {
	if !toFile {
		_, err := a.out.Write(text)
		return err
	}
	file, err := output(w.Project, "the graph", to, e.Config)
	if err != nil {
		return err
	}
	if err := file.save(text); err != nil {
		return err
	}
	return a.out.verdict("wrote", fmt.Sprintf("%s — %d nodes", oneLine(to), len(e.Document.Nodes)))
}
