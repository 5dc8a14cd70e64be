package syntax

import "iter"

// Inspect visits n and what is below it, in source order as far as the grammar has
// one; it does not go below a node for which visit returns false.
func Inspect(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	for child := range Children(n) {
		Inspect(child, visit)
	}
}

// Children are the nodes directly below n in source order. Parts that are no nodes
// themselves (keywords, parameters, clauses of a comprehension) yield their own.
func Children(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		w := &walker{yield: yield}
		if e, ok := n.(Expr); ok {
			w.belowExpr(e)
		} else {
			w.belowStmt(n)
		}
	}
}

type walker struct {
	yield func(Node) bool
	done  bool
}

func (w *walker) exprs(list ...Expr) {
	for _, e := range list {
		if e != nil && !w.done {
			w.done = !w.yield(e)
		}
	}
}

func (w *walker) stmts(body []Stmt) {
	for _, s := range body {
		if !w.done {
			w.done = !w.yield(s)
		}
	}
}

func (w *walker) belowExpr(e Expr) {
	switch e := e.(type) {
	case *JoinedStr:
		w.exprs(e.Parts...)
	case *FormattedValue:
		w.exprs(e.Value)
		if e.Spec != nil {
			w.exprs(e.Spec)
		}
	case *UnaryOp:
		w.exprs(e.Operand)
	case *BinOp:
		w.exprs(e.Left, e.Right)
	case *BoolOp:
		w.exprs(e.Values...)
	case *Compare:
		w.exprs(e.Left)
		w.exprs(e.Rights...)
	case *IfExp:
		w.exprs(e.Body, e.Test, e.Orelse)
	case *Call:
		w.exprs(e.Func)
		w.arguments(e.Args, e.Keywords)
	case *Attribute:
		w.exprs(e.Value)
	case *Subscript:
		w.exprs(e.Value, e.Index)
	case *Slice:
		w.exprs(e.Lower, e.Upper, e.Step)
	case *Starred:
		w.exprs(e.Value)
	case *List:
		w.exprs(e.Elts...)
	case *Tuple:
		w.exprs(e.Elts...)
	case *Set:
		w.exprs(e.Elts...)
	case *Dict:
		for i := range e.Keys {
			w.exprs(e.Keys[i], e.Values[i])
		}
	case *ListComp:
		w.comprehension(e.Generators, e.Elt)
	case *SetComp:
		w.comprehension(e.Generators, e.Elt)
	case *DictComp:
		w.comprehension(e.Generators, e.Key, e.Value)
	case *GeneratorExp:
		w.comprehension(e.Generators, e.Elt)
	case *Lambda:
		w.params(e.Params)
		w.exprs(e.Body)
	case *NamedExpr:
		w.exprs(e.Target, e.Value)
	case *Await:
		w.exprs(e.Value)
	case *Yield:
		w.exprs(e.Value)
	case *YieldFrom:
		w.exprs(e.Value)
	}
}

// arguments yields positional and keyword arguments as they were written: they may
// alternate.
func (w *walker) arguments(args []Expr, keywords []Keyword) {
	for len(args)+len(keywords) > 0 {
		if len(keywords) == 0 || len(args) > 0 && before(args[0].Start(), keywords[0].Pos) {
			w.exprs(args[0])
			args = args[1:]
		} else {
			w.exprs(keywords[0].Value)
			keywords = keywords[1:]
		}
	}
}

func before(a, b Pos) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
}

func (w *walker) comprehension(clauses []Comprehension, elts ...Expr) {
	w.exprs(elts...)
	for _, c := range clauses {
		w.exprs(c.Target, c.Iter)
		w.exprs(c.Ifs...)
	}
}

func (w *walker) params(params []Param) {
	for _, p := range params {
		w.exprs(p.Annotation, p.Default)
	}
}

func (w *walker) belowStmt(n Node) {
	switch s := n.(type) {
	case *ExprStmt:
		w.exprs(s.Value)
	case *Assign:
		w.exprs(s.Targets...)
		w.exprs(s.Value)
	case *AugAssign:
		w.exprs(s.Target, s.Value)
	case *AnnAssign:
		w.exprs(s.Target, s.Annotation, s.Value)
	case *For:
		w.exprs(s.Target, s.Iter)
		w.stmts(s.Body)
		w.stmts(s.Orelse)
	case *While:
		w.exprs(s.Test)
		w.stmts(s.Body)
		w.stmts(s.Orelse)
	case *If:
		w.exprs(s.Test)
		w.stmts(s.Body)
		w.stmts(s.Orelse)
	case *With:
		for _, item := range s.Items {
			w.exprs(item.Context, item.Target)
		}
		w.stmts(s.Body)
	case *FunctionDef:
		w.exprs(s.Decorators...)
		w.params(s.Params)
		w.exprs(s.Returns)
		w.stmts(s.Body)
	case *ClassDef:
		w.exprs(s.Decorators...)
		w.arguments(s.Bases, s.Keywords)
		w.stmts(s.Body)
	case *Return:
		w.exprs(s.Value)
	case *Raise:
		w.exprs(s.Exc, s.Cause)
	case *Try:
		w.stmts(s.Body)
		w.stmts(s.Handlers)
		w.stmts(s.Orelse)
		w.stmts(s.Final)
	case *Assert:
		w.exprs(s.Test, s.Msg)
	case *Delete:
		w.exprs(s.Targets...)
	case *Match:
		w.exprs(s.Subject)
	}
}
