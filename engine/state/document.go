package state

import (
	"fmt"
	"strings"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Document is the row as JSON. Its keys are the names of ST-1 and ST-6: the columns of a
// table, the fields of a snapshot's row, and the old half that a pending destroy keeps.
func (r *Row) Document() map[string]any {
	doc := map[string]any{
		"id": r.ID, "type": r.Type, "kind": r.Kind, "provider": r.Provider, "provider_version": r.ProviderVersion,
		"input_hash": r.InputHash, "outputs": orEmpty(r.Outputs), "properties": orEmpty(r.Properties),
		"dependencies": texts(r.Dependencies), "depends_on": texts(r.DependsOn),
		"prevent_destroy": r.PreventDestroy, "create_before_destroy": r.CreateBeforeDestroy, "status": r.Status,
		"secret_digests": textMap(r.SecretDigests), "ref_digests": textMap(r.RefDigests),
		"refreshed_outputs": texts(r.RefreshedOutputs), "row_uid": r.RowUID, "attempt": r.Attempt, "epoch": r.Epoch,
		"updated_at": nil,
	}
	if !r.UpdatedAt.IsZero() {
		doc["updated_at"] = r.UpdatedAt.UTC().Format(time.RFC3339Nano)
	}
	return doc
}

// RowFromDocument reads what Document wrote. A key that is missing reads as its zero
// value, one that is unknown is left out; one of another type is a StateError that names
// node and key.
func RowFromDocument(doc map[string]any) (*Row, error) {
	d := decoder{doc: doc}
	r := &Row{
		ID: d.text("id"), Type: d.text("type"), Kind: d.text("kind"), Provider: d.text("provider"),
		ProviderVersion: d.text("provider_version"), InputHash: d.text("input_hash"),
		Outputs: pick[map[string]any](&d, "outputs"), Properties: pick[map[string]any](&d, "properties"),
		Dependencies: d.texts("dependencies"), DependsOn: d.texts("depends_on"),
		PreventDestroy: pick[bool](&d, "prevent_destroy"), CreateBeforeDestroy: pick[bool](&d, "create_before_destroy"), Status: d.text("status"),
		SecretDigests: d.textMap("secret_digests"), RefDigests: d.textMap("ref_digests"),
		RefreshedOutputs: d.texts("refreshed_outputs"), RowUID: d.text("row_uid"), Attempt: d.text("attempt"), Epoch: pick[int64](&d, "epoch"),
	}
	if at := d.text("updated_at"); at != "" {
		parsed, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			d.fail("updated_at")
		}
		r.UpdatedAt = parsed.UTC()
	}
	return r, d.err
}

// ReplacedSuffix ends the id under which other releases record the old half of a replace.
const ReplacedSuffix = "~replaced"

// AddRecorded files a row as another release recorded it: an old half becomes the pending
// destroy of its node (ST-22).
func (s *Snapshot) AddRecorded(row *Row) {
	base, isOld := strings.CutSuffix(row.ID, ReplacedSuffix)
	if !isOld {
		s.Rows[row.ID] = row
		return
	}
	row.ID = base
	s.Pending[base] = &PendingDestroy{NodeID: base, Row: row, Mode: CreateBeforeDestroy}
}

// NewSnapshot is an empty one.
func NewSnapshot() *Snapshot {
	return &Snapshot{Rows: map[string]*Row{}, Pending: map[string]*PendingDestroy{}, Outputs: map[string]Output{}}
}

// decoder takes typed values out of a document and keeps the first surprise.
type decoder struct {
	doc map[string]any
	err error
}

func (d *decoder) fail(key string) {
	if d.err == nil {
		d.err = model.Errorf(model.StateError, model.ClassUnknown,
			"the record of node %+.80q has a '%s' that cannot be read: restore it from a backup", fmt.Sprint(d.doc["id"]), key)
	}
}

func pick[T any](d *decoder, key string) (zero T) {
	v := d.doc[key]
	if v == nil {
		return zero
	}
	typed, ok := v.(T)
	if !ok {
		d.fail(key)
	}
	return typed
}

func (d *decoder) text(key string) string { return pick[string](d, key) }

func (d *decoder) texts(key string) []string {
	var out []string
	for _, item := range pick[[]any](d, key) {
		s, ok := item.(string)
		if !ok {
			d.fail(key)
		}
		out = append(out, s)
	}
	return out
}

func (d *decoder) textMap(key string) map[string]string {
	in := pick[map[string]any](d, key)
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		s, ok := v.(string)
		if !ok {
			d.fail(key)
		}
		out[k] = s
	}
	return out
}

// What is absent is written empty: no column is null.

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func textMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
