package state

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Columns are the parts of a row that a table keeps as JSON, as its texts.
type Columns struct {
	Outputs, Properties                                                  []byte
	Dependencies, DependsOn, SecretDigests, RefDigests, RefreshedOutputs []byte
}

// Decode gives a row, whose id is there, these parts. What Document would have written
// reads as it does there; anything else is a StateError that names node and column. The
// texts are not kept.
func (c *Columns) Decode(into *Row) error {
	d := decoder{doc: map[string]any{"id": into.ID}}
	into.Outputs, into.Properties = d.object("outputs", c.Outputs), d.object("properties", c.Properties)
	into.Dependencies, into.DependsOn = d.list("dependencies", c.Dependencies), d.list("depends_on", c.DependsOn)
	into.SecretDigests, into.RefDigests = d.digests("secret_digests", c.SecretDigests), d.digests("ref_digests", c.RefDigests)
	into.RefreshedOutputs = d.list("refreshed_outputs", c.RefreshedOutputs)
	return d.err
}

func (d *decoder) object(key string, text []byte) map[string]any {
	d.read(key, text)
	return pick[map[string]any](d, key)
}

func (d *decoder) list(key string, text []byte) []string {
	if string(text) == "[]" {
		return nil
	}
	d.read(key, text)
	return d.texts(key)
}

func (d *decoder) digests(key string, text []byte) map[string]string {
	if string(text) == "{}" {
		return nil
	}
	d.read(key, text)
	return d.textMap(key)
}

// read puts what a text says into the document.
func (d *decoder) read(key string, text []byte) {
	value, err := model.DecodeJSON(text)
	if err != nil {
		d.fail(key)
	}
	d.doc[key] = value
}

// AppendJSON writes Document as model.EncodeJSON does, without making it first.
func (r *Row) AppendJSON(dst []byte) ([]byte, error) {
	w := writer{out: append(dst, '{')}
	w.text("attempt", r.Attempt)
	w.truth("create_before_destroy", r.CreateBeforeDestroy)
	w.list("dependencies", r.Dependencies)
	w.list("depends_on", r.DependsOn)
	w.key("epoch")
	w.out = strconv.AppendInt(w.out, r.Epoch, 10)
	w.text("id", r.ID)
	w.text("input_hash", r.InputHash)
	w.text("kind", r.Kind)
	w.object("outputs", r.Outputs)
	w.truth("prevent_destroy", r.PreventDestroy)
	w.object("properties", r.Properties)
	w.text("provider", r.Provider)
	w.text("provider_version", r.ProviderVersion)
	w.digests("ref_digests", r.RefDigests)
	w.list("refreshed_outputs", r.RefreshedOutputs)
	w.text("row_uid", r.RowUID)
	w.digests("secret_digests", r.SecretDigests)
	w.text("status", r.Status)
	w.text("type", r.Type)
	if r.UpdatedAt.IsZero() {
		w.key("updated_at")
		w.out = append(w.out, "null"...)
	} else {
		w.text("updated_at", r.UpdatedAt.UTC().Format(time.RFC3339Nano))
	}
	return append(w.out, '}'), w.err
}

// writer writes the members of one object, in the order of their names, and keeps the
// first error.
type writer struct {
	out []byte
	err error
}

func (w *writer) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(model.AppendText(w.out, name), ':')
}

func (w *writer) text(name, s string) {
	w.key(name)
	w.out = model.AppendText(w.out, s)
}

func (w *writer) truth(name string, b bool) {
	w.key(name)
	w.out = strconv.AppendBool(w.out, b)
}

func (w *writer) list(name string, texts []string) {
	w.key(name)
	w.out = append(w.out, '[')
	for i, s := range texts {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = model.AppendText(w.out, s)
	}
	w.out = append(w.out, ']')
}

func (w *writer) digests(name string, m map[string]string) {
	w.key(name)
	w.out = append(w.out, '{')
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.text(key, m[key])
	}
	w.out = append(w.out, '}')
}

func (w *writer) object(name string, m map[string]any) {
	w.key(name)
	out, err := model.AppendJSON(w.out, m)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.out = out
}
