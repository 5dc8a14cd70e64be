package apply

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// confidences are what a run was told and nobody else may be: the secrets that its handles
// name, and the sensitive values of its resources. A provider may repeat any of it in an
// error (EX-41). nil remembers nothing.
type confidences struct {
	mu       sync.Mutex
	values   map[string]bool
	replacer *strings.Replacer // of all values; nil = to be made, since errors are rare and values are not
}

const (
	redacted = "(redacted)"
	// minConfidence is how long, in bytes, a text is that can be told from others: what is
	// shorter stands in every second sentence, and says nothing there.
	minConfidence = 4
)

// tell remembers all that stands in v.
func (c *confidences) tell(v any) {
	if c == nil {
		return
	}
	texts := confided(v)
	if len(texts) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		if !c.values[text] {
			c.values[text], c.replacer = true, nil
		}
	}
}

// scrub takes everything that was told out of a text.
func (c *confidences) scrub(text string) string {
	if c == nil {
		return text
	}
	c.mu.Lock()
	if c.replacer == nil {
		forms := []string{}
		for value := range c.values {
			forms = append(forms, formsOf(value)...)
		}
		slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
		pairs := []string{redacted, redacted} // what was scrubbed already stays
		for _, form := range forms {
			pairs = append(pairs, form, redacted)
		}
		c.replacer = strings.NewReplacer(pairs...)
	}
	replacer := c.replacer
	c.mu.Unlock()
	return replacer.Replace(text)
}

// confided are the texts and numbers in v that can be told from others.
func confided(v any) []string {
	var texts []string
	model.Walk(v, func(v model.Value) bool {
		if text := leafText(v); len(text) >= minConfidence {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

func leafText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// formsOf are the ways in which others write a text: as it is, as Go and as JSON quote it,
// and these quoted once more, as where an error holds the body of an answer.
func formsOf(text string) []string {
	forms := map[string]bool{text: true}
	for range 2 {
		for form := range maps.Clone(forms) {
			forms[unquoted(strconv.Quote(form))] = true
			forms[unquoted(string(model.AppendText(nil, form)))] = true
			if quoted, err := json.Marshal(form); err == nil {
				forms[unquoted(string(quoted))] = true
			}
		}
	}
	return slices.Collect(maps.Keys(forms))
}

func formsOfAll(texts []string) []string {
	var forms []string
	for _, text := range texts {
		forms = append(forms, formsOf(text)...)
	}
	return forms
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// repeats reports whether one of the forms stands in v, as a key as well.
func repeats(v any, forms []string) bool {
	if len(forms) == 0 {
		return false
	}
	holds := func(text string) bool {
		return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
	}
	found := false
	model.Walk(v, func(v model.Value) bool {
		if object, ok := v.(map[string]any); ok {
			for key := range object {
				found = found || holds(key)
			}
		} else {
			found = found || holds(leafText(v))
		}
		return !found
	})
	return found
}
