package syntax

// params parses parameters up to closing (":" of a lambda, ")" of a def), which it
// leaves.
func (p *parser) params(closing string, annotated bool) []Param {
	s := paramList{parser: p, annotated: annotated}
	p.height = 0
	for !p.at(closing) && !p.is(tFSpec) {
		s.one()
		s.h = max(s.h, p.height)
		if !p.accept(",") {
			break
		}
	}
	if s.bare != (Pos{}) {
		p.fail(s.bare, "named parameters must follow bare *")
	}
	p.height = s.h
	return s.list
}

type paramList struct {
	*parser
	annotated bool
	list      []Param
	h         int

	slash, star, kwargs, defaults bool
	bare                          Pos // of a bare "*" that no parameter has followed yet
}

func (s *paramList) one() {
	at := s.here()
	if s.kwargs {
		s.fail(at, "parameters cannot follow the var-keyword parameter")
	}
	s.height = 0
	switch {
	case s.accept("/"):
		s.positionalOnly(at)
	case s.accept("**"):
		if s.bare != (Pos{}) {
			s.fail(s.bare, "named parameters must follow bare *")
		}
		s.kwargs = true
		s.param(ParamVarKwargs)
	case s.accept("*"):
		if s.star {
			s.fail(at, "* may appear only once among the parameters")
		}
		s.star = true
		switch {
		case s.is(tName):
			s.param(ParamVarArgs)
		case s.at(","):
			s.bare = at
		default:
			s.fail(at, "named parameters must follow bare *")
		}
	case s.star:
		s.bare = Pos{}
		s.param(ParamKeyword)
	default:
		s.param(ParamPlain)
	}
}

func (s *paramList) positionalOnly(at Pos) {
	switch {
	case s.slash:
		s.fail(at, "/ may appear only once among the parameters")
	case s.star:
		s.fail(at, "/ must be ahead of *")
	case len(s.list) == 0:
		s.fail(at, "at least one parameter must precede /")
	}
	s.slash = true
	for i := range s.list {
		s.list[i].Kind = ParamPositional
	}
}

// param parses one name with its annotation and default.
func (s *paramList) param(kind ParamKind) {
	name := s.name()
	param := Param{Pos: name.pos(), Name: name.text, Kind: kind}
	h := 0
	if s.annotated && s.accept(":") {
		if kind == ParamVarArgs {
			param.Annotation = s.starExpression()
		} else {
			param.Annotation = s.expression()
		}
		h = s.height
	}
	variadic := kind == ParamVarArgs || kind == ParamVarKwargs
	switch {
	case s.at("=") && variadic:
		s.fail(s.here(), "a var-positional or var-keyword parameter cannot have a default")
	case s.at("="):
		if at := s.next().pos(); s.at(",") || s.at(")") {
			s.fail(at, "a default is expected after '%s='", param.Name)
		}
		param.Default = s.expression()
		s.defaults = s.defaults || kind == ParamPlain
		h = max(h, s.height)
	case kind == ParamPlain && s.defaults:
		s.fail(name.pos(), "parameter without a default follows parameter with a default")
	}
	s.height = h
	s.list = append(s.list, param)
}
