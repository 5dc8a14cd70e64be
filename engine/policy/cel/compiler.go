// Package cel owns the rules that are written in CEL: what an expression may read of a
// pending change, what it may cost, and how its result becomes a verdict.
//
// It must never know who wrote a rule nor what it is bound to; nothing but this package
// imports the CEL library.
//
// An expression reads two variables. change has the fields nodeId, action, stack, type,
// changedFields, conditional, and desired and prior, the symbolic properties of either
// side; desired is not set for a delete, prior not for a create. params are those of the
// binding. The change is allowed when the expression is true. Whatever else comes of it
// — false, an error, a field that is missing, a limit — is a violation and never a pass.
//
// A property that is known only after the apply (a reference, a combinator, another
// stack's output), and one that is sensitive (a secret handle, a sealed value, any value
// of a field that its type declares sensitive), has no value in an expression: what is
// computed from it is not known either, unless the rest decides alone, as in
// `false && x` or `true || x`. known(x) and sensitive(x) ask which it is, at any depth.
// A key whose value is not known is present to `"key" in map`; has() on it is not known.
package cel

import (
	"strings"
	"sync"
	"unicode/utf8"

	celgo "cel.dev/cel-go/cel"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/policy"
)

// Compiler compiles rules, each text once. It is safe for concurrent use.
type Compiler struct {
	env      *celgo.Env
	planWork uint64 // of the programs that are made

	mu    sync.Mutex
	known map[string]*program // by digest
}

// Source is a rule as it is written.
type Source struct {
	Expression string // a bool: whether the change is allowed
	Message    string // a text, evaluated for a change that is not; "" = a standard one
}

const (
	// maxSource bounds an expression, in bytes; maxKnown the programs that are kept.
	maxSource = 8 << 10
	maxKnown  = 1024
	// maxWork bounds one evaluation, in steps and values looked at, and planWork all
	// evaluations of one rule in one plan; lookEvery is the work between two looks at the
	// context.
	maxWork   = 100_000
	planWork  = 20_000_000
	lookEvery = 1000
	// An expression whose cost in the units of CEL may exceed maxCost, for lists of
	// usualItems and texts of usualText, is refused when it is compiled.
	maxCost    = 300_000
	usualItems = 100
	usualText  = 1000
	// maxNodes and maxDepth bound the parsed expression, maxRegex the instructions of a
	// compiled pattern.
	maxNodes = 2000
	maxDepth = 60
	maxRegex = 500
)

// NewCompiler makes a compiler.
func NewCompiler() (*Compiler, error) {
	env, err := newEnvironment()
	if err != nil {
		return nil, model.Errorf(model.AtlantideError, model.ClassUnknown, "the environment of CEL rules cannot be made: %w", err)
	}
	return &Compiler{env: env, planWork: planWork, known: map[string]*program{}}, nil
}

// Compile makes a policy of a source, and the digest of what it demands. What does not
// compile, has another type or costs too much is a PolicyConfigError.
func (c *Compiler) Compile(s Source) (demanded policy.Policy, digest string, err error) {
	if err := s.validate(); err != nil {
		return nil, "", err
	}
	digest, err = ir.PrefixedDigest(map[string]any{"expression": s.Expression, "message": s.Message})
	if err != nil {
		return nil, "", err
	}
	digest = "cel:" + digest
	p := c.lookUp(digest)
	if p == nil {
		if p, err = c.compile(s); err != nil {
			return nil, "", err
		}
		c.keep(digest, p)
	}
	return p.bind, digest, nil
}

func (s Source) validate() error {
	for _, text := range []string{s.Expression, s.Message} {
		if len(text) > maxSource {
			return refused("a CEL expression has %d bytes, and at most %d are taken", len(text), maxSource)
		}
		if !utf8.ValidString(text) {
			return refused("a CEL expression is not UTF-8")
		}
	}
	if strings.TrimSpace(s.Expression) == "" {
		return refused("the CEL expression is empty; it must say when a change is allowed")
	}
	return nil
}

func (c *Compiler) lookUp(digest string) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[digest]
}

// keep remembers a program. A full cache is emptied: whoever holds a program keeps it.
func (c *Compiler) keep(digest string, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[digest] = p
}

func (c *Compiler) compile(s Source) (*program, error) {
	p := &program{source: s, budget: c.planWork}
	var err error
	if p.allowed, err = c.program(s.Expression, celgo.BoolType, "the expression"); err != nil {
		return nil, err
	}
	if s.Message != "" {
		p.message, err = c.program(s.Message, celgo.StringType, "the message expression")
	}
	return p, err
}

func (c *Compiler) program(text string, wants *celgo.Type, what string) (made celgo.Program, err error) {
	// The library has panicked on sources that are merely wrong; a rule must not be able
	// to end the process.
	defer func() {
		if cause := recover(); cause != nil {
			made, err = nil, refused("%s does not compile: %v", what, cause)
		}
	}()
	ast, issues := c.env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, refused("%s does not compile: %s", what, firstIssue(issues))
	}
	if !ast.OutputType().IsExactType(wants) {
		return nil, refused("%s must give a %s, and gives a %s", what, wants, ast.OutputType())
	}
	estimate, err := c.env.EstimateCost(ast, usualSizes{})
	if err != nil {
		return nil, refused("the cost of %s cannot be estimated: %s", what, err)
	}
	if estimate.Max > maxCost {
		return nil, refused("%s costs too much: up to %d for lists of %d items and texts of %d characters, and at most %d is taken; nest fewer loops",
			what, estimate.Max, usualItems, usualText, uint64(maxCost))
	}
	made, err = c.env.Program(ast, celgo.CustomDecoratorV2(meter(c.env)))
	if err != nil {
		return nil, refused("%s cannot be run: %s", what, err)
	}
	return made, nil
}

// firstIssue is where and what the first mistake is, on one line.
func firstIssue(issues *celgo.Issues) string {
	all := issues.Errors()
	if len(all) == 0 {
		return "it is not understood"
	}
	text, _, _ := strings.Cut(all[0].Message, "\n")
	return text + position(all[0].Location.Line(), all[0].Location.Column())
}

func refused(format string, args ...any) *model.Error {
	err := model.Errorf(model.PolicyConfigError, model.ClassUser, format, args...)
	err.Message = shorten(err.Message, maxMessage)
	return err
}
