// Package lower turns the tree of a config into the syntax tree of go.starlark.net.
//
// It is the only package that knows both trees. Everything that has a meaning of its
// own in Python (operators, attributes, subscripts, iteration, calls, displays) becomes
// a call of a predeclared name that starts with "%" and that the runner supplies; what
// is left to Starlark is control flow, frames and closures. It must never know a value.
package lower

import (
	"strconv"

	star "go.starlark.net/syntax"

	"github.com/atlantide-org/atlantide-operator/engine/lang/syntax"
)

// Names that a lowered file calls. No name of a config can begin with "%".
// Operators are called by Binary, Unary and Compare of their text.
const (
	Undefined = "%undefined" // (name): a name that is bound nowhere
	Made      = "%made"      // (v): v, a list, tuple or function that the interpreter made
	Frame     = "%frame"     // (slots, held): True, when the frame of so many slots may be had
	Unset     = "%unset"     // value of a local that was not assigned yet
	IsSet     = "%isset"     // (v): v is not Unset
	Builtin   = "%builtin"   // (name): the builtin of that name
	GetAttr   = "%getattr"   // (x, name)
	GetItem   = "%getitem"   // (x, key)
	Store     = "%store"     // (value, x, key): x[key] = value
	Slice     = "%slice"     // (lower, upper, step)
	Iter      = "%iter"      // (x): what a for statement walks
	Collect   = "%collect"   // (x): what a comprehension walks
	Unpack    = "%unpack"    // (x, count, index of the starred target or -1)
	Call      = "%call"      // (f, args…, k=v…)
	Apply     = "%apply"     // (f, args, [(k, v)…]): a call with a starred or a long argument list
	Chain     = "%chain"     // (items…): all items in one sequence
	Set       = "%set"       // (list)
	Dict      = "%dict"      // ([(k, v)…])
	Format    = "%format"    // (x, conversion, spec)
	Join      = "%join"      // (list of texts)
	Enter     = "%enter"     // (manager): the value that "as" binds
	Exit      = "%exit"      // (manager)
	Import    = "%import"    // (module with its leading dots, name)
	Base      = "%base"      // (class name, base)
	Field     = "%field"     // (class name, field, type, nullable[, default])
	Schema    = "%schema"    // (class name, base, fields)
	Ellipsis  = "%ellipsis"  // the value of "..."
	Bytes     = "%bytes"     // (text)
	Component = "%component" // (class name, base, [(kind of member, name, value)…])
	Super     = "%super"     // (class, self): the __init__ of the class's base, bound to self
	SetAttr   = "%setattr"   // (value, x, name): x.name = value
	Raise     = "%raise"     // (error class, text)
)

// BinaryOps, UnaryOps and CompareOps are the operators that can occur.
var (
	BinaryOps  = []string{"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"}
	UnaryOps   = []string{"-", "+", "~"}
	CompareOps = []string{"<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not"}
)

// Binary is the name of a binary operator's function.
func Binary(op string) string { return "%binary " + op }

// Unary is the name of a unary operator's function.
func Unary(op string) string { return "%unary " + op }

// Compare is the name of a comparison's function.
func Compare(op string) string { return "%compare " + op }

// Options are the dialect that a lowered file is compiled with.
var options = star.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// maxArgs is how many positional or keyword arguments a Starlark call may have;
// a longer call goes through Apply.
const maxArgs = 250

// NodeBytes is what a node of a lowered file takes until it runs, as tree and as code,
// what it was lowered from included.
const NodeBytes = 256

// File lowers a module that check has admitted to so many nodes. builtin reports whether
// a name that the module does not assign has a meaning of its own. A module may lower to
// far more than it looks like, a return within many managers for one: ok is false when
// it comes to more than limit.
func File(m *syntax.Module, filename string, builtin func(name string) bool, limit int) (file *star.File, nodes int, ok bool) {
	l := &lowerer{file: filename, builtin: builtin, limit: limit}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooLarge:
			file, nodes, ok = nil, l.nodes, false
		default:
			panic(r)
		}
	}()
	l.push(scopeModule)
	l.collect(m.Body)
	body, _ := l.block(m.Body)
	opts := options
	file = &star.File{Path: filename, Stmts: append(l.prologue(), body...), Options: &opts}
	return file, l.nodes, true
}

// tooLarge travels by panic to File.
type tooLarge struct{}

type lowerer struct {
	file    string
	builtin func(string) bool

	scope    *scope
	frame    frame
	limit    int // of nodes
	nodes    int // so far
	names    int // unique names handed out
	closures int // lambdas emitted that may outlive the expression they stand in
	method   method
}

// frame is what break, continue and return must undo, per function.
type frame struct {
	managers []string // temporaries of the open managers, innermost last
	loops    []loop
}

type loop struct {
	broken   string // flag to set before break; "" without an else
	managers int    // how many managers were open outside of the loop
}

// prologue declares the module's names. A builtin that the module rebinds starts out
// as that builtin; any other name must be known to Starlark's resolver, which reads a
// file's top level in order, without being assigned.
func (l *lowerer) prologue() []star.Stmt {
	var declared, stmts []star.Stmt
	for _, v := range l.scope.order {
		if l.builtin(v.name) {
			stmts = append(stmts, l.assign(syntax.Pos{}, l.ident(syntax.Pos{}, v.name), l.call(syntax.Pos{}, Builtin, l.text(syntax.Pos{}, v.name))))
		} else {
			declared = append(declared, l.assign(syntax.Pos{}, l.ident(syntax.Pos{}, v.name), l.ident(syntax.Pos{}, "None")))
		}
	}
	if declared != nil {
		stmts = append(stmts, &star.IfStmt{If: l.pos(syntax.Pos{}), Cond: l.ident(syntax.Pos{}, "False"), True: declared})
	}
	return stmts
}

// temp is a fresh name.
func (l *lowerer) temp() string {
	l.names++
	return "%t" + strconv.Itoa(l.names)
}

func (l *lowerer) count() {
	if l.nodes++; l.nodes > l.limit {
		panic(tooLarge{})
	}
}

// pos is the position of a node; every node has one.
func (l *lowerer) pos(p syntax.Pos) star.Position {
	l.count()
	return star.MakePosition(&l.file, int32(p.Line), int32(p.Col))
}

func (l *lowerer) ident(p syntax.Pos, name string) *star.Ident {
	return &star.Ident{NamePos: l.pos(p), Name: name}
}

func (l *lowerer) text(p syntax.Pos, s string) star.Expr {
	return &star.Literal{Token: star.STRING, TokenPos: l.pos(p), Value: s}
}

func (l *lowerer) number(p syntax.Pos, n int) star.Expr {
	return &star.Literal{Token: star.INT, TokenPos: l.pos(p), Value: int64(n)}
}

func (l *lowerer) truth(p syntax.Pos, b bool) star.Expr {
	if b {
		return l.ident(p, "True")
	}
	return l.ident(p, "False")
}

// call calls a predeclared function; an error in it is reported at p.
func (l *lowerer) call(p syntax.Pos, name string, args ...star.Expr) *star.CallExpr {
	return &star.CallExpr{Fn: l.ident(p, name), Lparen: l.pos(p), Args: args}
}

func (l *lowerer) list(p syntax.Pos, items []star.Expr) star.Expr {
	return &star.ListExpr{Lbrack: l.pos(p), List: items}
}

func (l *lowerer) tuple(p syntax.Pos, items []star.Expr) star.Expr {
	return &star.TupleExpr{Lparen: l.pos(p), List: items}
}

func (l *lowerer) assign(p syntax.Pos, target, value star.Expr) star.Stmt {
	return &star.AssignStmt{OpPos: l.pos(p), Op: star.EQ, LHS: target, RHS: value}
}
