package apply

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/scrub"
)

// confidences are what a run was told and nobody else may be: the secrets that its handles
// name, and the sensitive values of its resources. A provider may repeat any of it in an
// error, or the start of it (EX-41). nil remembers nothing.
type confidences struct{ values scrub.Set }

// minConfidence is how long, in bytes, a text is that can be told from others: what is
// shorter stands in every second sentence, and says nothing there.
const minConfidence = 4

// tell remembers all that stands in v.
func (c *confidences) tell(v any) {
	if c == nil {
		return
	}
	for _, text := range confided(v) {
		c.values.Add(text)
	}
}

// scrub takes everything that was told out of a text.
func (c *confidences) scrub(text string) string {
	if c == nil {
		return text
	}
	return c.values.Scrub(text)
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

func formsOfAll(texts []string) []string {
	var forms []string
	for _, text := range texts {
		forms = append(forms, scrub.Forms(text)...)
	}
	return forms
}

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
