package main

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/aws"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// workload is a config and the number of resources that it declares.
type workload struct {
	name  string
	text  string
	nodes int
}

//go:embed all:configs
var embedded embed.FS

// workloads are what is measured, in the order of the table.
func workloads() []workload {
	return []workload{
		fromFile("flat", 1_000),
		fromFile("flat", 10_000),
		fromFile("flat", 100_000),
		fromFile("stacks", 10_000),
		lines(5_000),
		fromFile("functions", 1_000),
		fromFile("network", 5_000),
		fromFile("components", 5_000),
		{name: "example/15", text: config("example"), nodes: 15},
	}
}

func config(name string) string {
	text, err := embedded.ReadFile("configs/" + name + ".py")
	if err != nil {
		panic(err) // the name of an embedded file is a constant
	}
	return string(text)
}

// fromFile is a config that declares as many resources as its input says.
func fromFile(name string, nodes int) workload {
	return workload{name: fmt.Sprintf("%s/%d", name, nodes), text: config(name), nodes: nodes}
}

// lines is a config without a loop: what it costs is to read, check and lower.
func lines(n int) workload {
	var b strings.Builder
	b.WriteString("from atlantide.core import Stack\nfrom atlantide.providers.local import File\n\nwith Stack('s', region='eu-west-1'):\n    file_0 = File('first', path='first', content='x')\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "    file_%d = File('name-%d', path='folder/%d.txt', content=file_%d.checksum)\n", i, i, i, i/2)
	}
	return workload{name: fmt.Sprintf("lines/%d", n), text: b.String(), nodes: n}
}

// Beyond what any workload needs, so that all of them can grow.
const (
	fuel   = 100_000_000
	memory = 4 << 30
)

// compiler is an engine with every built-in provider, and the folder of the configs as
// their source tree.
type compiler struct {
	engine *engine.Engine
	source fs.FS
}

func newCompiler(dir string) (*compiler, error) {
	project, err := local.NewProject(dir)
	if err != nil {
		return nil, err
	}
	registry, err := providers.NewRegistry(project, random.New(rand.Reader, time.Now), aws.New())
	if err != nil {
		return nil, err
	}
	source, err := fs.Sub(embedded, "configs")
	if err != nil {
		return nil, err
	}
	return &compiler{engine: &engine.Engine{Registry: registry}, source: source}, nil
}

// compile takes a workload from its text to IR and hashes.
func (c *compiler) compile(w *workload) error {
	_, err := c.compilation(w)
	return err
}

func (c *compiler) compilation(w *workload) (*ir.Compilation, error) {
	compilation, err := c.engine.Compile(context.Background(), engine.Source{Filename: w.name + ".py", Text: w.text}, engine.CompileOptions{
		Inputs: map[string]any{"nodes": int64(w.nodes)},
		Fuel:   fuel,
		Memory: memory,
		Source: c.source,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	if got := len(compilation.Document.Nodes); got != w.nodes {
		return nil, fmt.Errorf("%s declares %d resources, not %d", w.name, got, w.nodes)
	}
	return compilation, nil
}
