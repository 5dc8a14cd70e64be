// Package syntax turns the text of a config into a tree: lexer, parser and the node
// types. It accepts the grammar of Python 3.12 (lang.md §2, §3), refusals of the
// language included, so that check can refuse them by name.
//
// It must never know a value's behaviour, a name's meaning or a resource.
package syntax

import "math/big"

// Pos is a place in the text: 1-based, columns in code points.
type Pos struct{ Line, Col int }

// Node is any part of the tree.
type Node interface {
	Start() Pos
	// Kind is the node's name in Python's ast module ("While", "NamedExpr"); error
	// messages use it.
	Kind() string
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Module is a whole file.
type Module struct {
	Body []Stmt
	// Lines are the lines of the text without their ends, for error displays.
	Lines []string
}

// Constant values are: nil (None), bool, *big.Int, float64, string, Bytes,
// Imaginary, Ellipsis.
type (
	Bytes     string
	Imaginary float64
	Ellipsis  struct{}
)

// Expressions.
type (
	Constant struct {
		Pos
		Value any
	}
	Name struct {
		Pos
		Name string // NFKC-normalised
	}
	// JoinedStr is an f-string, or a concatenation with one: Parts are *Constant
	// texts and *FormattedValue.
	JoinedStr struct {
		Pos
		Parts []Expr
	}
	// FormattedValue is one replacement field. Conv is 0, 's', 'r' or 'a'. For
	// "{expr=}" the text "expr=" is a Constant part before it and Conv is already
	// 'r' where Python defaults to it.
	FormattedValue struct {
		Pos
		Value Expr
		Conv  byte
		Spec  *JoinedStr // nil = no spec
	}
	UnaryOp struct {
		Pos
		Op      string // "-", "+", "~", "not"
		Operand Expr
	}
	BinOp struct {
		Pos
		Left  Expr
		Op    string // + - * / // % ** << >> & | ^ @
		OpPos Pos
		Right Expr
	}
	BoolOp struct {
		Pos
		Op     string // "and", "or"
		Values []Expr // two or more
	}
	Compare struct {
		Pos
		Left   Expr
		Ops    []string // < <= > >= == != in "not in" is "is not"
		Rights []Expr
	}
	IfExp struct {
		Pos
		Test, Body, Orelse Expr
	}
	Call struct {
		Pos
		Func     Expr
		Args     []Expr // *Starred among them
		Keywords []Keyword
	}
	Attribute struct {
		Pos
		Value   Expr
		Name    string
		NamePos Pos
	}
	Subscript struct {
		Pos
		Value, Index Expr // Index may be *Slice, or a *Tuple
	}
	Slice struct {
		Pos
		Lower, Upper, Step Expr // nil where absent
	}
	Starred struct {
		Pos
		Value Expr
	}
	List struct {
		Pos
		Elts []Expr
	}
	Tuple struct {
		Pos
		Elts  []Expr
		Paren bool // written in parentheses
	}
	Set struct {
		Pos
		Elts []Expr
	}
	Dict struct {
		Pos
		Keys   []Expr // nil entry: a "**" item
		Values []Expr
	}
	ListComp struct {
		Pos
		Elt        Expr
		Generators []Comprehension
	}
	SetComp struct {
		Pos
		Elt        Expr
		Generators []Comprehension
	}
	DictComp struct {
		Pos
		Key, Value Expr
		Generators []Comprehension
	}
	GeneratorExp struct {
		Pos
		Elt        Expr
		Generators []Comprehension
	}
	Lambda struct {
		Pos
		Params []Param
		Body   Expr
	}
	NamedExpr struct {
		Pos
		Target, Value Expr
	}
	Await struct {
		Pos
		Value Expr
	}
	Yield struct {
		Pos
		Value Expr // nil = bare
	}
	YieldFrom struct {
		Pos
		Value Expr
	}
)

// Keyword is one keyword argument; Name "" is "**value".
type Keyword struct {
	Pos
	Name  string
	Value Expr
}

// Comprehension is one "for target in iter if …" clause.
type Comprehension struct {
	Pos
	Async        bool
	Target, Iter Expr
	Ifs          []Expr
}

// ParamKind says how a parameter may be bound.
type ParamKind int

const (
	ParamPlain      ParamKind = iota
	ParamPositional           // before "/"
	ParamKeyword              // after "*" or "*args"
	ParamVarArgs              // *args
	ParamVarKwargs            // **kw
)

// Param is one parameter of a def or a lambda.
type Param struct {
	Pos
	Name       string
	Kind       ParamKind
	Annotation Expr // nil = none
	Default    Expr // nil = none
}

// Statements.
type (
	ExprStmt struct {
		Pos
		Value Expr
	}
	Assign struct {
		Pos
		Targets []Expr // left to right
		Value   Expr
	}
	AugAssign struct {
		Pos
		Target Expr
		Op     string // the binary operator, without "="
		OpPos  Pos
		Value  Expr
	}
	AnnAssign struct {
		Pos
		Target     Expr
		Annotation Expr
		Value      Expr // nil = none
		Paren      bool // target written in parentheses
	}
	For struct {
		Pos
		Async        bool
		Target, Iter Expr
		Body, Orelse []Stmt
	}
	While struct {
		Pos
		Test         Expr
		Body, Orelse []Stmt
	}
	If struct {
		Pos
		Test         Expr
		Body, Orelse []Stmt // an elif is an If alone in Orelse
	}
	With struct {
		Pos
		Async bool
		Items []WithItem
		Body  []Stmt
	}
	FunctionDef struct {
		Pos        // of "def" (or "async")
		Async      bool
		Name       string
		NamePos    Pos
		TypeParams bool
		Params     []Param
		Returns    Expr // nil = none
		Body       []Stmt
		Decorators []Expr
	}
	ClassDef struct {
		Pos        // of "class"
		Name       string
		NamePos    Pos
		TypeParams bool
		Bases      []Expr
		Keywords   []Keyword
		Body       []Stmt
		Decorators []Expr
	}
	Return struct {
		Pos
		Value Expr // nil = bare
	}
	Raise struct {
		Pos
		Exc, Cause Expr
	}
	// Try covers try/except and, with Star, try/except*. Only its place and its
	// statements matter: the language refuses it.
	Try struct {
		Pos
		Star                          bool
		Body, Handlers, Orelse, Final []Stmt
	}
	Assert struct {
		Pos
		Test, Msg Expr
	}
	Import struct {
		Pos
		Names []Alias
	}
	ImportFrom struct {
		Pos
		Level  int // leading dots
		Module string
		Names  []Alias // Name "*" for a star import
	}
	Global struct {
		Pos
		Names []string
	}
	Nonlocal struct {
		Pos
		Names []string
	}
	Delete struct {
		Pos
		Targets []Expr
	}
	Match struct {
		Pos
		Subject Expr
	}
	TypeAlias struct {
		Pos
		Name Expr
	}
	Pass     struct{ Pos }
	Break    struct{ Pos }
	Continue struct{ Pos }
)

// WithItem is one manager of a with statement.
type WithItem struct {
	Context Expr
	Target  Expr // nil = no "as"
}

// Alias is one imported name.
type Alias struct {
	Pos
	Name string // dotted for Import
	As   string // "" = none
}

// Start makes every node that embeds Pos a Node.
func (p Pos) Start() Pos { return p }

// Int is a Constant's integer value.
type Int = *big.Int

func (*Constant) Kind() string       { return "Constant" }
func (*Name) Kind() string           { return "Name" }
func (*JoinedStr) Kind() string      { return "JoinedStr" }
func (*FormattedValue) Kind() string { return "FormattedValue" }
func (*UnaryOp) Kind() string        { return "UnaryOp" }
func (*BinOp) Kind() string          { return "BinOp" }
func (*BoolOp) Kind() string         { return "BoolOp" }
func (*Compare) Kind() string        { return "Compare" }
func (*IfExp) Kind() string          { return "IfExp" }
func (*Call) Kind() string           { return "Call" }
func (*Attribute) Kind() string      { return "Attribute" }
func (*Subscript) Kind() string      { return "Subscript" }
func (*Slice) Kind() string          { return "Slice" }
func (*Starred) Kind() string        { return "Starred" }
func (*List) Kind() string           { return "List" }
func (*Tuple) Kind() string          { return "Tuple" }
func (*Set) Kind() string            { return "Set" }
func (*Dict) Kind() string           { return "Dict" }
func (*ListComp) Kind() string       { return "ListComp" }
func (*SetComp) Kind() string        { return "SetComp" }
func (*DictComp) Kind() string       { return "DictComp" }
func (*GeneratorExp) Kind() string   { return "GeneratorExp" }
func (*Lambda) Kind() string         { return "Lambda" }
func (*NamedExpr) Kind() string      { return "NamedExpr" }
func (*Await) Kind() string          { return "Await" }
func (*Yield) Kind() string          { return "Yield" }
func (*YieldFrom) Kind() string      { return "YieldFrom" }

func (*ExprStmt) Kind() string   { return "Expr" }
func (*Assign) Kind() string     { return "Assign" }
func (*AugAssign) Kind() string  { return "AugAssign" }
func (*AnnAssign) Kind() string  { return "AnnAssign" }
func (*While) Kind() string      { return "While" }
func (*If) Kind() string         { return "If" }
func (*ClassDef) Kind() string   { return "ClassDef" }
func (*Return) Kind() string     { return "Return" }
func (*Raise) Kind() string      { return "Raise" }
func (*Assert) Kind() string     { return "Assert" }
func (*Import) Kind() string     { return "Import" }
func (*ImportFrom) Kind() string { return "ImportFrom" }
func (*Global) Kind() string     { return "Global" }
func (*Nonlocal) Kind() string   { return "Nonlocal" }
func (*Delete) Kind() string     { return "Delete" }
func (*Match) Kind() string      { return "Match" }
func (*TypeAlias) Kind() string  { return "TypeAlias" }
func (*Pass) Kind() string       { return "Pass" }
func (*Break) Kind() string      { return "Break" }
func (*Continue) Kind() string   { return "Continue" }

func (s *For) Kind() string         { return async(s.Async, "For") }
func (s *With) Kind() string        { return async(s.Async, "With") }
func (s *FunctionDef) Kind() string { return async(s.Async, "FunctionDef") }

func (s *Try) Kind() string {
	if s.Star {
		return "TryStar"
	}
	return "Try"
}

func async(is bool, name string) string {
	if is {
		return "Async" + name
	}
	return name
}

func (*Constant) expr()       {}
func (*Name) expr()           {}
func (*JoinedStr) expr()      {}
func (*FormattedValue) expr() {}
func (*UnaryOp) expr()        {}
func (*BinOp) expr()          {}
func (*BoolOp) expr()         {}
func (*Compare) expr()        {}
func (*IfExp) expr()          {}
func (*Call) expr()           {}
func (*Attribute) expr()      {}
func (*Subscript) expr()      {}
func (*Slice) expr()          {}
func (*Starred) expr()        {}
func (*List) expr()           {}
func (*Tuple) expr()          {}
func (*Set) expr()            {}
func (*Dict) expr()           {}
func (*ListComp) expr()       {}
func (*SetComp) expr()        {}
func (*DictComp) expr()       {}
func (*GeneratorExp) expr()   {}
func (*Lambda) expr()         {}
func (*NamedExpr) expr()      {}
func (*Await) expr()          {}
func (*Yield) expr()          {}
func (*YieldFrom) expr()      {}

func (*ExprStmt) stmt()    {}
func (*Assign) stmt()      {}
func (*AugAssign) stmt()   {}
func (*AnnAssign) stmt()   {}
func (*For) stmt()         {}
func (*While) stmt()       {}
func (*If) stmt()          {}
func (*With) stmt()        {}
func (*FunctionDef) stmt() {}
func (*ClassDef) stmt()    {}
func (*Return) stmt()      {}
func (*Raise) stmt()       {}
func (*Try) stmt()         {}
func (*Assert) stmt()      {}
func (*Import) stmt()      {}
func (*ImportFrom) stmt()  {}
func (*Global) stmt()      {}
func (*Nonlocal) stmt()    {}
func (*Delete) stmt()      {}
func (*Match) stmt()       {}
func (*TypeAlias) stmt()   {}
func (*Pass) stmt()        {}
func (*Break) stmt()       {}
func (*Continue) stmt()    {}
