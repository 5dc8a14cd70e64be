package schema

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// policyVersion is the version of the policy language.
const policyVersion = "2012-10-17"

// helpers build policy statements and documents (providers.md 3.1, 3.2). They look at
// nothing that a config passes on but the services of a trust policy: any value may
// be or hold a handle.
func helpers() []model.Helper {
	grant := func(name, effect, doc string) model.Helper {
		return model.Helper{
			Name: name, Rest: "actions", Params: []string{"on", "principal?", "sid?", "condition?"}, Doc: doc,
			Call: func(c model.HelperCall) (any, error) { return newStatement(effect, c) },
		}
	}
	return []model.Helper{
		grant("allow", "Allow", "A policy statement that allows actions."),
		grant("deny", "Deny", "A policy statement that denies actions."),
		{
			Name: "assume_role", Rest: "services", Call: assumeRole,
			Doc: "The trust policy, as JSON, that lets AWS services assume a role.",
		},
		{
			Name: "policy_document", Params: []string{"statements"}, Module: "policy",
			Doc:  "A policy document of statements.",
			Call: func(c model.HelperCall) (any, error) { return document(c.Args["statements"]), nil },
		},
		{
			Name: "policy_json", Params: []string{"statements"}, Module: "policy",
			Doc:  "A policy document of statements as JSON.",
			Call: func(c model.HelperCall) (any, error) { return encode(c, c.Args["statements"]) },
		},
	}
}

func newStatement(effect string, c model.HelperCall) (any, error) {
	if len(c.Rest) == 0 {
		return nil, errors.New("makes a statement of effect " + effect + " without an action; name at least 1 action")
	}
	s := model.Object{
		{Key: "Effect", Value: effect},
		{Key: "Action", Value: c.Rest},
		{Key: "Resource", Value: c.Args["on"]},
	}
	for _, m := range []struct{ key, arg string }{{"Principal", "principal"}, {"Sid", "sid"}, {"Condition", "condition"}} {
		if v := c.Args[m.arg]; v != nil {
			s = append(s, model.ObjectMember{Key: m.key, Value: v})
		}
	}
	return s, nil
}

func document(statements any) model.Object {
	return model.Object{{Key: "Version", Value: policyVersion}, {Key: "Statement", Value: statements}}
}

func assumeRole(c model.HelperCall) (any, error) {
	var principal any = c.Rest
	switch len(c.Rest) {
	case 0:
		return nil, errors.New("makes a trust policy for nobody; name at least 1 service")
	case 1:
		principal = c.Rest[0]
	}
	text, err := encode(c, []any{model.Object{
		{Key: "Effect", Value: "Allow"},
		{Key: "Action", Value: "sts:AssumeRole"},
		{Key: "Principal", Value: model.Object{{Key: "Service", Value: principal}}},
	}})
	if err == nil {
		return text, nil
	}
	if _, ofTheRun := errors.AsType[*model.Error](err); ofTheRun {
		return nil, err
	}
	return nil, errors.New("takes the names of services, texts that are known now; give IamRole(assumed_by=…) anything else: " + err.Error())
}

// encode is a document of statements as JSON in ASCII: keys sorted, no spaces.
func encode(c model.HelperCall, statements any) (any, error) {
	encoded, err := c.JSON(document(statements))
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(encoded) {
		return nil, errors.New("cannot encode a lone surrogate, which a policy may not hold")
	}
	var ascii strings.Builder
	for _, r := range encoded {
		if r < utf8.RuneSelf {
			ascii.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) { // only texts have such characters
			fmt.Fprintf(&ascii, `\u%04x`, unit)
		}
	}
	return ascii.String(), nil
}
