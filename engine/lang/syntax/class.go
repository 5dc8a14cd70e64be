package syntax

// IsSuperInit reports whether a call is "super().__init__(…)", the one use of super
// that the language knows, in a component.
func IsSuperInit(e *Call) bool {
	f, ok := e.Func.(*Attribute)
	return ok && f.Name == "__init__" && IsSuper(f.Value)
}

// IsSuper reports whether an expression is "super()".
func IsSuper(e Expr) bool {
	call, ok := e.(*Call)
	if !ok || len(call.Args)+len(call.Keywords) > 0 {
		return false
	}
	name, ok := call.Func.(*Name)
	return ok && name.Name == "super"
}
