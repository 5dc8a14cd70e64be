package postgres

import (
	"fmt"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// rowDocument is a row as JSON: its keys are the columns of table nodes, and it is
// stored whole as the old half of a pending destroy.
func rowDocument(r *state.Row) map[string]any {
	doc := map[string]any{
		"id": r.ID, "type": r.Type, "kind": r.Kind, "provider": r.Provider, "provider_version": r.ProviderVersion,
		"input_hash": r.InputHash, "outputs": object(r.Outputs), "properties": object(r.Properties),
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

// rowFromDocument reads what rowDocument wrote. A key that is missing reads as its
// zero value, one that is unknown is left out.
func rowFromDocument(doc map[string]any) (*state.Row, error) {
	d := decoder{doc: doc}
	r := &state.Row{
		ID: d.text("id"), Type: d.text("type"), Kind: d.text("kind"), Provider: d.text("provider"),
		ProviderVersion: d.text("provider_version"), InputHash: d.text("input_hash"),
		Outputs: d.object("outputs"), Properties: d.object("properties"),
		Dependencies: d.texts("dependencies"), DependsOn: d.texts("depends_on"),
		PreventDestroy: d.flag("prevent_destroy"), CreateBeforeDestroy: d.flag("create_before_destroy"), Status: d.text("status"),
		SecretDigests: d.textMap("secret_digests"), RefDigests: d.textMap("ref_digests"),
		RefreshedOutputs: d.texts("refreshed_outputs"), RowUID: d.text("row_uid"), Attempt: d.text("attempt"),
	}
	r.Epoch, _ = doc["epoch"].(int64)
	if at := d.text("updated_at"); at != "" {
		parsed, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			d.fail("updated_at")
		}
		r.UpdatedAt = parsed.UTC()
	}
	return r, d.err
}

// decoder takes typed values out of a document and keeps the first surprise.
type decoder struct {
	doc map[string]any
	err error
}

func (d *decoder) fail(key string) {
	if d.err == nil {
		d.err = stateError(model.ClassUnknown, nil, fmt.Sprintf("the record of node '%s' has a '%s' that cannot be read: restore it from a backup", clip(fmt.Sprint(d.doc["id"])), key))
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

func (d *decoder) text(key string) string           { return pick[string](d, key) }
func (d *decoder) flag(key string) bool             { return pick[bool](d, key) }
func (d *decoder) object(key string) map[string]any { return pick[map[string]any](d, key) }

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
	in := d.object(key)
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

// The columns are not null: what is absent is stored empty.

func object(m map[string]any) map[string]any {
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

// checkText refuses texts that the database cannot hold, before anything is sent (ST-20).
func checkText(what string, texts ...string) error {
	if err := state.CheckStorable(texts); err != nil {
		return stateError(model.ClassUser, nil, fmt.Sprintf("%s %v, which the state store cannot hold: let the provider or the config encode it", what, err))
	}
	return nil
}
