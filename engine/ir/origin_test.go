package ir_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestLocated(t *testing.T) {
	at := func(line int) model.Place {
		return model.Place{File: "infra.py", Line: line, Col: 5, Source: fmt.Sprintf("line %d", line)}
	}
	c := &ir.Compilation{
		Document: &ir.Document{Nodes: []ir.Node{{ID: "s:p.T:a"}, {ID: "s:p.T:b"}, {ID: "s:p.T:c"}}},
		Origins:  []model.Place{at(1), at(2), at(3)},
	}
	located := func(e model.Error, line int, related ...model.Related) *model.Error {
		p := at(line)
		e.File, e.Line, e.Col, e.Source, e.Related = p.File, p.Line, p.Col, p.Source, related
		return &e
	}
	declared := func(line int, id string) model.Related {
		return model.Related{Place: at(line), Message: id + " is declared here"}
	}
	concerns := func(nodes ...string) model.Error { return model.Error{Message: "m", Nodes: nodes} }
	many, all := concerns(), []model.Related{}
	for i := range model.MaxRelated + 2 {
		many.Nodes = append(many.Nodes, "s:p.T:b")
		if i > 0 && i <= model.MaxRelated {
			all = append(all, declared(2, "s:p.T:b"))
		}
	}
	one, two, unknown, plain := concerns("s:p.T:b"), concerns("s:p.T:c", "s:p.T:gone", "s:p.T:a"), concerns("s:p.T:gone"), concerns()
	called := model.Error{Message: "m", NodeID: "s:p.T:a"}
	has := model.Error{Message: "m", Line: 9, Nodes: []string{"s:p.T:a"}}
	foreign := errors.New("disk full")
	for _, x := range []struct {
		reason    string
		of        *ir.Compilation
		err, want error
	}{
		{"no error", c, nil, nil},
		{"a node", c, &one, located(one, 2)},
		{"nodes, of which one is not declared", c, &two, located(two, 3, declared(1, "s:p.T:a"))},
		{"a node of a provider's failure", c, &called, located(called, 1)},
		{"no node that is declared", c, &unknown, &unknown},
		{"no node at all", c, &plain, &plain},
		{"a position of its own", c, &has, &has},
		{"more nodes than are shown", c, &many, located(many, 2, all...)},
		{"nothing known of declarations", &ir.Compilation{Document: c.Document}, &one, &one},
		{"no compilation", nil, &one, &one},
	} {
		if diff := cmp.Diff(x.want, x.of.Located(x.err)); diff != "" {
			t.Errorf("%s:\n%s", x.reason, diff)
		}
	}
	if got := c.Located(foreign); !errors.Is(got, foreign) {
		t.Errorf("a foreign error becomes %v", got)
	}
	if one.Line != 0 {
		t.Error("the error itself was changed")
	}
}
