package cel

import (
	"fmt"
	"math"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Variables and functions of an expression.
const (
	varChange    = "change"
	varParams    = "params"
	fnKnown      = "known"
	fnSensitive  = "sensitive"
	fnMatches    = "matches"
	stringsLevel = 5 // the version of the strings library: the set of its functions
)

// newEnvironment is all that an expression can see: the pure part of the standard library
// without any notion of time, functions on texts, and the change.
func newEnvironment() (*celgo.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	ask := func(name string) celgo.EnvOption {
		return celgo.Function(name, celgo.Overload(name+"_dyn", []*celgo.Type{celgo.DynType}, celgo.BoolType,
			celgo.OverloadIsNonStrict(), celgo.UnaryBinding(func(ref.Val) ref.Val {
				return types.NewErr("%s() was called past the meter", name) // metered.Exec answers
			})))
	}
	return celgo.NewCustomEnv(
		celgo.CustomTypeProvider(provider{Provider: registry}),
		celgo.CustomTypeAdapter(adapter{other: registry}),
		celgo.StdLib(celgo.StdLibSubset(standard())),
		ext.Strings(ext.StringsVersion(stringsLevel)),
		celgo.Variable(varChange, changeType),
		celgo.Variable(varParams, celgo.MapType(celgo.StringType, celgo.DynType)),
		ask(fnKnown), ask(fnSensitive),
		celgo.CrossTypeNumericComparisons(true),
		celgo.EnableErrorOnBadPresenceTest(true),
		celgo.EnableHiddenAccumulatorName(true),
		celgo.ParserExpressionSizeLimit(maxSource),
		celgo.ParserRecursionLimit(maxDepth),
		celgo.ParserErrorRecoveryLimit(1),
		celgo.ExpressionNodeLimit(maxNodes),
		celgo.ASTValidators(literals{}),
	)
}

// standard names the functions of the standard library that have no time in them.
func standard() *env.LibrarySubset {
	subset := &env.LibrarySubset{IncludeMacros: []string{
		operators.Has, operators.All, operators.Exists, operators.ExistsOne, operators.Map, operators.Filter,
	}}
	for _, name := range []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Index, operators.In, "size", "contains", "startsWith", "endsWith", fnMatches,
		"int", "uint", "double", "string", "bool", "type", "dyn",
	} {
		subset.IncludeFunctions = append(subset.IncludeFunctions, &env.Function{Name: name})
	}
	return subset
}

// literals refuses patterns that come from a change, since compiling one is costly, those
// that are too big to run, and the construction of objects.
type literals struct{}

func (literals) Name() string { return "atlantide.literals" }

func (literals) Validate(_ *celgo.Env, _ celgo.ValidatorConfig, tree *ast.AST, issues *celgo.Issues) {
	root := ast.NavigateAST(tree)
	for _, call := range ast.MatchDescendants(root, ast.FunctionMatcher(fnMatches)) {
		args := call.AsCall().Args()
		pattern := args[len(args)-1]
		var text types.String
		if pattern.Kind() == ast.LiteralKind {
			text, _ = pattern.AsLiteral().(types.String)
		}
		if text == "" {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches() must be a literal text that is not empty")
			continue
		}
		size, err := programSize(string(text))
		switch {
		case err != nil:
			issues.ReportErrorAtID(pattern.ID(), "%s", err)
		case size > maxRegex:
			issues.ReportErrorAtID(pattern.ID(), "the pattern has %d instructions, and at most %d are taken", size, maxRegex)
		}
	}
	for _, object := range ast.MatchDescendants(root, ast.KindMatcher(ast.StructKind)) {
		issues.ReportErrorAtID(object.ID(), "objects cannot be made")
	}
}

// usualSizes estimate what only a change knows.
type usualSizes struct{}

func (usualSizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	items := checker.SizeEstimate{Max: usualItems}
	if node.Type().IsExactType(types.StringType) {
		items.Max = usualText
	}
	return &items
}

func (usualSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// position is where a mistake is; columns of CEL count from 0, ours from 1.
func position(line, column int) string {
	if line <= 0 || column < 0 || column == math.MaxInt {
		return ""
	}
	return fmt.Sprintf(" (line %d, col %d)", line, column+1)
}
