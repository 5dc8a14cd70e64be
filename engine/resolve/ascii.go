package resolve

import (
	"strings"
	"unicode"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// ascii escapes what is beyond ASCII in a text that repr made.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII {
			b.WriteRune(r)
		} else {
			b.WriteString(model.EscapeRune(r))
		}
	}
	return b.String()
}
