// Package snapshot owns the file that a state is backed up to and restored from: version
// 3 is written, versions 1 and 3 are read (ST-4, ST-22).
//
// It must never know a store. What it reads may have been written by anybody: every size
// is bounded, and what is not understood is refused, never guessed at.
package snapshot

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Versions of the document. Version 1 is that of Atlantide 0.3.
const (
	versionFirst = 1
	Version      = 3
)

// Suffix is how the name of a snapshot file ends.
const Suffix = ".atlas-state"

// Limits of what is read, in bytes.
const (
	MaxFile     = 256 << 20 // as it is on the disk
	MaxDocument = 256 << 20 // unpacked
	// MaxValues bounds what a reader keeps in memory: a value takes far more there than the
	// two bytes that it may take in a file. A node has about forty.
	MaxValues = 10_000_000
)

// compressFrom is the size of a document from which on it is compressed.
const compressFrom = 65536

// File is a snapshot and the version that it was read in.
type File struct {
	*state.Snapshot
	Version int64 // 1 or 3
}

// Encode writes version 3: keys sorted, no spaces, non-ASCII escaped, compressed without
// a time when it is large. Equal states have equal bytes.
func Encode(s *state.Snapshot) ([]byte, error) {
	nodes := make(map[string]any, len(s.Rows)+len(s.Pending))
	for id, row := range s.Rows {
		nodes[id] = rowDocument(id, row)
	}
	for id, entry := range s.Pending {
		addPending(nodes, id, entry)
	}
	outputs := make(map[string]any, len(s.Outputs))
	kept := map[string]any{}
	for key, o := range s.Outputs {
		outputs[key] = o.Value
		if extra := outputDocument(o); len(extra) > 0 {
			kept[key] = extra
		}
	}
	addOutputs(nodes, kept)
	data, err := model.EncodeJSON(map[string]any{
		"fences": map[string]any{}, "gen": int64(0), "journal": map[string]any{"epoch": "", "format": int64(1)}, "max_fence": int64(0),
		"nodes": nodes, "outputs": outputs, "owm": map[string]any{}, "serial": s.Serial, "version": int64(Version), "wm": map[string]any{},
	})
	if err != nil {
		return nil, model.Errorf(model.StateError, model.ClassUnknown, "the state cannot be written as a snapshot: %w", err)
	}
	data = escape(data)
	if len(data) < compressFrom {
		return data, nil
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed) // its header has no time
	_, err = w.Write(data)
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

// escape writes every character outside ASCII as the escape of its UTF-16 units. In JSON
// they stand inside strings only.
func escape(data []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(data) + len(data)/16)
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			out.WriteByte(data[0])
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		data = data[size:]
		if r < 0x10000 {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		r -= 0x10000
		fmt.Fprintf(&out, "\\u%04x\\u%04x", 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return out.Bytes()
}

// Keys of a row beyond those of the format; other readers pass over them.
const (
	pendingKey = "pending_destroys"
	outputsKey = "output_records"
)

// rowDocument is the row with the columns of the format, and of ours those that are not
// empty (ST-6).
func rowDocument(id string, row *state.Row) map[string]any {
	doc := row.Document()
	doc["id"] = id
	for _, key := range []string{"kind", "create_before_destroy", "refreshed_outputs", "row_uid", "attempt", "epoch", "updated_at"} {
		if isEmpty(doc[key]) {
			delete(doc, key)
		}
	}
	return doc
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int64:
		return v == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// addPending writes a pending destroy into the row of its node; without one, into a row
// of its own whose id says what it is, so that other readers delete what it stands for.
func addPending(nodes map[string]any, id string, entry *state.PendingDestroy) {
	old := rowDocument(id, entry.Row)
	carrier, ok := nodes[id].(map[string]any)
	if !ok {
		carrier = rowDocument(id+state.ReplacedSuffix, entry.Row)
		nodes[id+state.ReplacedSuffix] = carrier
	}
	carrier[pendingKey] = []any{map[string]any{"mode": entry.Mode, "row": old}}
}

// outputDocument is what is recorded of an output beside its value.
func outputDocument(o state.Output) map[string]any {
	extra := map[string]any{}
	if o.Sensitive {
		extra["sensitive"] = true
	}
	if len(o.SourceNodes) > 0 {
		sources, _ := model.NormalizeJSON(o.SourceNodes) // texts have a JSON form
		extra["source_nodes"] = sources
	}
	return extra
}

// addOutputs keeps what is recorded of an output with the first row that it was made
// from; without such a row there is nothing to come back to.
func addOutputs(nodes, outputs map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(outputs)) {
		extra := outputs[key]
		carrier := carrierOf(nodes, key, extra.(map[string]any))
		if carrier == nil {
			continue
		}
		records, _ := carrier[outputsKey].(map[string]any)
		if records == nil {
			records = map[string]any{}
			carrier[outputsKey] = records
		}
		records[key] = extra
	}
}

// carrierOf is the row that an output's record is kept with: one that it was made from,
// else the first of its stack, else the first of all.
func carrierOf(nodes map[string]any, key string, extra map[string]any) map[string]any {
	sources, _ := extra["source_nodes"].([]any)
	for _, id := range sources {
		text, _ := id.(string)
		if carrier, ok := nodes[text].(map[string]any); ok {
			return carrier
		}
	}
	stack, _, _ := strings.Cut(key, ":")
	var first, ofStack string
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		first = cmp.Or(first, id)
		if ofStack == "" && strings.HasPrefix(id, stack+":") {
			ofStack = id
		}
	}
	carrier, _ := nodes[cmp.Or(ofStack, first)].(map[string]any)
	return carrier
}
