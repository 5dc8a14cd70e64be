package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

const idBucket = "s:test.Bucket:u"

// keyedBySecret is a thing whose id repeats its secret, so that it lies sealed: by nothing
// else is it found.
func keyedBySecret() (b func(t *testing.T) (*bench, *safe), nodes []ir.Node) {
	return func(t *testing.T) (*bench, *safe) { return vaulted(t, map[string]string{"one": "id-1"}) },
		[]ir.Node{thing("a", "k", secretRef("one"))}
}

// namedBySecret is a bucket that is found by its name, which another node put out.
func namedBySecret() []ir.Node {
	return []ir.Node{thing("a", "k", "1"), node(idBucket, map[string]any{"key": ref("a", "password"), "value": "1"})}
}

// TestRefreshOfWhatDoesNotOpen: without the key nothing is known of a node, so it is neither
// missing nor in sync, its provider is not asked, and its row stays whatever is asked for.
func TestRefreshOfWhatDoesNotOpen(t *testing.T) {
	_, sealedID := keyedBySecret()
	plain := thing("c", "k", "1")
	for _, c := range []struct {
		reason string
		nodes  []ir.Node
		fails  []string
	}{
		{"an output that is merely confidential", []ir.Node{thing("a", "k", "1")}, []string{idA}},
		{"the id that it is found by", sealedID, []string{idA}},
		{"a name that another node put out", namedBySecret(), []string{idBucket, idA}},
	} {
		for lost, lose := range map[string]func(*safe) apply.Secrets{
			"another key": func(*safe) apply.Secrets { return newSafe(nil).secrets() },
			"no key": func(s *safe) apply.Secrets {
				known := s.secrets()
				known.Unsealer, known.Recorder, known.Digests = nil, nil, nil
				return known
			},
		} {
			t.Run(c.reason+", "+lost, func(t *testing.T) {
				b, s := vaulted(t, map[string]string{"one": "id-1"})
				b.world.outputs = func(r *model.Request) (model.Outputs, error) {
					if r.Node.Name == "c" {
						return model.Outputs{"id": "id-of-c"}, nil
					}
					id := "id-1"
					if r.Node.Type != "test.Thing" {
						id = "<secret>"
					}
					return model.Outputs{"id": id, "password": "secret"}, nil
				}
				b.mustApply(append(slices.Clone(c.nodes), plain))
				b.world.calls = nil
				before := b.snapshot()
				r := b.refresher()
				r.Secrets, r.Record, r.Prune = lose(s), b.recording(), true
				drift, err := r.Run(t.Context(), before)
				e := failureOf(t, err, model.KindOf(err), "cannot be read")
				failed := []string{e.NodeID}
				for _, also := range e.AlsoFailed {
					failed = append(failed, also.NodeID)
				}
				if !slices.Equal(failed, c.fails) || e.Op != "read" || !strings.Contains(e.Error(), c.fails[0]) {
					t.Errorf("%v of %v, want of %v", err, failed, c.fails)
				}
				if lost == "no key" && (e.Kind != model.SecretsError || !strings.Contains(e.Error(), "install key")) {
					t.Errorf("%s %v does not name the key", e.Kind, e)
				}
				if len(drift.Nodes) != 1 || drift.Nodes[0].NodeID != "s:test.Thing:c" {
					t.Errorf("verdicts on %+v", drift.Nodes)
				}
				b.wantCalls("read c")
				for _, id := range c.fails {
					if diff := cmp.Diff(before.Rows[id], b.snapshot().Rows[id]); diff != "" {
						t.Errorf("%s was written (-before +after):\n%s", id, diff)
					}
				}
			})
		}
	}
}

// TestDeleteOfWhatDoesNotOpen: what is found by something that lies sealed is not deleted as
// if it were gone, whatever wants it away; nothing is called and its row stays. What is only
// confidential keeps nothing (EX-17, X-23).
func TestDeleteOfWhatDoesNotOpen(t *testing.T) {
	vault, sealedID := keyedBySecret()
	moved := thing("a", "k2", secretRef("one"))
	for _, c := range []struct {
		reason   string
		from, to []ir.Node // to nil = a destroy
		keeps    string    // "" = it goes
	}{
		{"a destroy", sealedID, nil, idA},
		{"a node that is not declared any more", sealedID, []ir.Node{}, idA},
		{"a replace", sealedID, []ir.Node{moved}, idA},
		{"a create-first replace, before it makes anything", sealedID, []ir.Node{first(moved)}, idA},
		{"what goes early", []ir.Node{thing("u", "k", "1"), keyed("a", ref("u", "id"), secretRef("one"))}, []ir.Node{thing("u", "k2", "1")}, idA},
		{"a name that another node put out", namedBySecret(), nil, idBucket},
		{"an output that is merely confidential", []ir.Node{thing("a", "k", "1")}, nil, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b, s := vault(t)
			if len(c.from) > 1 && c.keeps == idA {
				s.values["one"] = "id-2" // the second that is made
			}
			if c.keeps == "" {
				s.values["one"] = "elsewhere"
			}
			b.mustApply(c.from)
			before, calls := b.snapshot(), b.world.Made
			s.sealed, b.world.calls = map[string]any{}, nil
			var p *plan.Plan
			if c.to != nil {
				p = b.plan(compiled(t, c.to))
			} else {
				var err error
				if p, err = plan.Destroy(b.snapshot(), schemas(t), plan.Secrets{}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := b.run(t.Context(), p)
			if c.keeps == "" {
				if err != nil || len(b.world.Objects) > 0 {
					t.Errorf("%v, and %d objects are left", err, len(b.world.Objects))
				}
				return
			}
			e := failureOf(t, err, model.KindOf(err), "what is recorded of "+c.keeps+" cannot be read")
			if e.NodeID != c.keeps || e.Op != "delete" {
				t.Errorf("error %+v", e)
			}
			b.wantCalls()
			if diff := cmp.Diff(before.Rows[c.keeps], b.snapshot().Rows[c.keeps]); diff != "" || len(b.snapshot().Pending) > 0 || b.world.Made != calls {
				t.Errorf("something was done (-before +after):\n%s", diff)
			}
		})
	}
}

// TestCreateOverWhatDoesNotOpen: what an earlier try recorded is not overwritten unread.
func TestCreateOverWhatDoesNotOpen(t *testing.T) {
	vault, nodes := keyedBySecret()
	b, s := vault(t)
	b.mustApply(nodes)
	row := b.snapshot().Rows[idA]
	row.Status = state.StatusCreating
	if err := b.store.Commit(t.Context(), partition, b.handle.fence, state.Batch{PutRows: []*state.Row{row}}); err != nil {
		t.Fatal(err)
	}
	s.sealed, b.world.calls = map[string]any{}, nil
	_, err := b.apply(nodes)
	wantError(t, err, model.KindOf(err), "cannot be read")
	b.wantCalls()
	if diff := cmp.Diff(row.Outputs, b.snapshot().Rows[idA].Outputs); diff != "" {
		t.Errorf("outputs (-before +after):\n%s", diff)
	}
}

// TestValuesThatDoNotOpenAreNamed: an import and an apply say that what a node refers to
// does not open, rather than that it has no value; and an update does not lose outputs.
func TestValuesThatDoNotOpenAreNamed(t *testing.T) {
	upstream := thing("a", "k", "1")
	reader := thing("b", "k", concat("x-", ref("a", "password")))
	t.Run("import, also of what is recorded", func(t *testing.T) {
		b, s := vaulted(t, nil)
		b.mustApply([]ir.Node{upstream, reader})
		s.sealed = map[string]any{}
		before := b.snapshot()
		m := b.importing([]ir.Node{upstream, reader}, existing())
		m.Secrets, m.Record, m.Force = s.secrets(), b.recording(), true
		report, err := m.Run(t.Context(), before, []apply.ImportRequest{{NodeID: idB, ExternalID: "i-2"}})
		if err != nil || report.Refused != 1 || report.Nodes[0].Status != apply.Blocked || !strings.Contains(report.Nodes[0].Detail, "does not open") {
			t.Errorf("%+v, %v", report, err)
		}
		if diff := cmp.Diff(before, b.snapshot()); diff != "" {
			t.Errorf("it was recorded (-before +after):\n%s", diff)
		}
	})
	t.Run("create", func(t *testing.T) {
		b, s := vaulted(t, nil)
		b.mustApply([]ir.Node{upstream})
		s.sealed, b.world.calls = map[string]any{}, nil
		_, err := b.apply([]ir.Node{upstream, reader})
		if e := failureOf(t, err, model.KindOf(err), "does not open"); e.NodeID != idB {
			t.Errorf("error %+v", e)
		}
		b.wantCalls()
	})
	t.Run("update", func(t *testing.T) {
		b, s := vaulted(t, nil)
		b.mustApply([]ir.Node{upstream})
		before := b.snapshot()
		s.sealed, b.world.calls = map[string]any{}, nil
		_, err := b.apply([]ir.Node{thing("a", "k", "2")})
		wantError(t, err, model.KindOf(err), "does not open")
		b.wantCalls()
		if diff := cmp.Diff(before.Rows, b.snapshot().Rows); diff != "" {
			t.Errorf("it was written (-before +after):\n%s", diff)
		}
	})
}
