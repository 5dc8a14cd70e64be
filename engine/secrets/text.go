package secrets

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/atlantide-org/atlantide-operator/engine/model/scrub"
)

// Redacted stands where a secret is not shown.
const Redacted = scrub.Redacted

// Text is the value of a secret. However it is formatted, logged or marshalled, it reads
// as Redacted; inside of another value, where fmt looks past methods, as an address. It
// cannot be compared, which would take a time that depends on the value.
type Text struct{ reveal func() string }

// NewText wraps the value of a secret.
func NewText(value string) Text { return Text{func() string { return value }} }

// Reveal is the value itself, for a provider call or a digest.
func (t Text) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// Format writes Redacted, whatever the verb.
func (t Text) Format(f fmt.State, _ rune) { conceal(f, Redacted) }

// String is Redacted.
func (t Text) String() string { return Redacted }

// GoString is Redacted.
func (t Text) GoString() string { return Redacted }

// MarshalText is Redacted.
func (t Text) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON is Redacted, in quotes.
func (t Text) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// LogValue is Redacted.
func (t Text) LogValue() slog.Value { return slog.StringValue(Redacted) }

func conceal(w io.Writer, text string) { _, _ = io.WriteString(w, text) }
