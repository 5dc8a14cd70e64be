package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Decode reads a snapshot of version 1 or 3. Every refusal is a user's StateError.
func Decode(data []byte) (*File, error) {
	data, err := unpack(data)
	if err != nil {
		return nil, unreadable(err)
	}
	if err := checkText(data); err != nil {
		return nil, unreadable(err)
	}
	value, err := model.DecodeJSON(data)
	if err != nil {
		return nil, unreadable(err)
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return nil, unreadable(errors.New("it is not a JSON object"))
	}
	version, err := integer(doc, "version")
	if err != nil {
		return nil, unreadable(err)
	}
	if version != versionFirst && version != Version {
		return nil, refused(version)
	}
	if version == Version {
		if err := checkBookkeeping(doc); err != nil {
			return nil, unreadable(err)
		}
	}
	s, err := content(doc)
	if err != nil {
		return nil, unreadable(err)
	}
	return &File{Snapshot: s, Version: version}, nil
}

func unreadable(err error) error {
	return model.Errorf(model.StateError, model.ClassUser, "the snapshot cannot be read: %w; it is damaged, or no snapshot", err)
}

func refused(version int64) error {
	e := model.Errorf(model.StateError, model.ClassUser, "the snapshot has version %d, and this release reads versions %d and %d", version, versionFirst, Version)
	if version > Version {
		e.Hint = "upgrade to the release that wrote it"
	}
	return e
}

// unpack undoes the compression, which a file shows by its first bytes.
func unpack(data []byte) ([]byte, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it has more than %d MiB", MaxFile>>20)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err == nil && len(plain) > MaxDocument {
		err = fmt.Errorf("unpacked it has more than %d MiB", MaxDocument>>20)
	}
	return plain, err
}

// checkText refuses what the JSON decoder would mend in silence: text that is not UTF-8,
// half a character, and a key that occurs twice in one object.
func checkText(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8")
	}
	if hasLoneSurrogate(data) {
		return errors.New("a text in it holds half a character")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	left := MaxValues
	return checkKeys(d, 0, &left)
}

// checkKeys reads one value; left is how many more the document may have.
func checkKeys(d *json.Decoder, depth int, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("it has more than %d values", MaxValues)
	}
	if depth > state.MaxNesting+8 { // a value lies a few levels deep in the document
		return fmt.Errorf("it is nested deeper than %d levels", state.MaxNesting)
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			text, _ := key.(string)
			if seen[text] {
				return fmt.Errorf("the key %+.80q occurs twice", text)
			}
			seen[text] = true
		}
		if err := checkKeys(d, depth+1, left); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// hasLoneSurrogate looks for an escaped UTF-16 unit that is half of a pair and has no
// other half. Whether the rest is JSON the decoder says.
func hasLoneSurrogate(data []byte) bool {
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++
		if data[i] != 'u' {
			continue
		}
		unit := unitAt(data, i+1)
		switch {
		case unit >= 0xd800 && unit < 0xdc00:
			low := -1
			if i+6 < len(data) && data[i+5] == '\\' && data[i+6] == 'u' {
				low = unitAt(data, i+7)
			}
			if low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 10
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		}
	}
	return false
}

func unitAt(data []byte, at int) int {
	if at+4 > len(data) {
		return -1
	}
	n, err := strconv.ParseUint(string(data[at:at+4]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// checkBookkeeping looks at the keys that only an object store fills. What they say is
// about that store's journal; that they are what they should be says it is a snapshot.
func checkBookkeeping(doc map[string]any) error {
	for _, key := range []string{"fences", "wm", "owm"} {
		if _, ok := doc[key].(map[string]any); !ok {
			return fmt.Errorf("its '%s' is no object", key)
		}
	}
	for _, key := range []string{"gen", "max_fence"} {
		if _, err := integer(doc, key); err != nil {
			return err
		}
	}
	journal, ok := doc["journal"].(map[string]any)
	if !ok {
		return errors.New("its 'journal' is no object")
	}
	if format, err := integer(journal, "format"); err != nil || format != 1 {
		return errors.New("its journal has another format than 1")
	}
	if _, ok := journal["epoch"].(string); !ok {
		return errors.New("its journal has no epoch")
	}
	return nil
}

// integer reads a number that is one: no truth value, no fraction.
func integer(doc map[string]any, key string) (int64, error) {
	n, ok := doc[key].(int64)
	if !ok {
		return 0, fmt.Errorf("its '%s' is no integer", key)
	}
	return n, nil
}

func content(doc map[string]any) (*state.Snapshot, error) {
	serial, err := integer(doc, "serial")
	if err != nil {
		return nil, err
	}
	nodes, isNodes := doc["nodes"].(map[string]any)
	outputs, isOutputs := doc["outputs"].(map[string]any)
	if !isNodes || !isOutputs {
		return nil, errors.New("its 'nodes' or its 'outputs' is no object")
	}
	s := state.NewSnapshot()
	s.Serial = serial
	for key, value := range outputs {
		s.Outputs[key] = state.Output{Value: value}
	}
	for id, node := range nodes {
		if err := addNode(s, id, node); err != nil {
			return nil, err
		}
	}
	return s, state.Replacement(state.NewSnapshot(), s).CheckStorable()
}

// required are the columns that every version has.
var required = []string{"type", "provider", "provider_version", "input_hash", "outputs", "properties", "dependencies", "prevent_destroy", "status", "secret_digests"}

// addNode reads one row, what it carries beside its columns, and its part in a replace
// (ST-22).
func addNode(s *state.Snapshot, id string, node any) error {
	doc, err := rowObject(id, node)
	if err != nil {
		return err
	}
	if err := readOutputs(s, id, doc[outputsKey]); err != nil {
		return err
	}
	row, err := state.RowFromDocument(doc)
	if err != nil {
		return err
	}
	entries, carries := doc[pendingKey]
	base, isOld := strings.CutSuffix(id, state.ReplacedSuffix)
	if !carries || !isOld { // else it is there for what it carries only
		s.AddRecorded(row)
	}
	if carries {
		return readPending(s, base, entries)
	}
	return nil
}

// rowObject is a row with all its columns, under the id that it is filed under.
func rowObject(id string, node any) (map[string]any, error) {
	doc, ok := node.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("node %+.80q is no object", id)
	}
	for _, key := range required {
		if doc[key] == nil {
			return nil, fmt.Errorf("node %+.80q has no '%s'", id, key)
		}
	}
	if name, ok := doc["id"].(string); !ok || name != id {
		return nil, fmt.Errorf("node %+.80q has another id inside", id)
	}
	switch doc["status"] {
	case state.StatusCreated, state.StatusCreating:
		return doc, nil
	default:
		return nil, fmt.Errorf("node %+.80q has the status %+.80q, which this release does not know", id, fmt.Sprint(doc["status"]))
	}
}

func readPending(s *state.Snapshot, base string, entries any) error {
	list, ok := entries.([]any)
	if !ok || len(list) != 1 {
		return fmt.Errorf("node %+.80q has '%s' that are not one entry", base, pendingKey)
	}
	entry, _ := list[0].(map[string]any)
	mode, _ := entry["mode"].(string)
	if mode != state.CreateBeforeDestroy && mode != state.DestroyBeforeCreate {
		return fmt.Errorf("the old half of node %+.80q has no mode that this release knows", base)
	}
	doc, err := rowObject(base, entry["row"])
	if err != nil {
		return err
	}
	row, err := state.RowFromDocument(doc)
	if err != nil {
		return err
	}
	if s.Pending[base] != nil {
		return fmt.Errorf("node %+.80q has two old halves", base)
	}
	s.Pending[base] = &state.PendingDestroy{NodeID: base, Row: row, Mode: mode}
	return nil
}

func readOutputs(s *state.Snapshot, id string, records any) error {
	if records == nil {
		return nil
	}
	all, ok := records.(map[string]any)
	if !ok {
		return fmt.Errorf("node %+.80q has '%s' that are no object", id, outputsKey)
	}
	for key, record := range all {
		o, known := s.Outputs[key]
		doc, isObject := record.(map[string]any)
		if !known || !isObject {
			return fmt.Errorf("node %+.80q has a record of output %+.80q that is none", id, key)
		}
		o.Sensitive, _ = doc["sensitive"].(bool)
		sources, _ := doc["source_nodes"].([]any)
		o.SourceNodes = nil
		for _, source := range sources {
			text, ok := source.(string)
			if !ok {
				return fmt.Errorf("output %+.80q was made from something that is no node id", key)
			}
			o.SourceNodes = append(o.SourceNodes, text)
		}
		s.Outputs[key] = o
	}
	return nil
}
