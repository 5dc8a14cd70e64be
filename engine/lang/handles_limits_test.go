package lang

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Every place that a handle is written to is paid for, however few handles there are.
func TestMarkersArePaidFor(t *testing.T) {
	const imports = "from atlantide.core import Ref, SecretRef, StackReference, output\n"
	for _, handle := range []string{"Ref('s:test.W:w', 'out')", "SecretRef('k')", "StackReference('other').output('x')"} {
		for _, c := range []struct {
			why, count string
			refused    bool
		}{
			{"few", "[[h] * 100] * 10", false},
			{"many, shared", "[[h] * 1000] * 50", true},
		} {
			text := imports + "h = " + handle + "\nx = " + c.count + "\noutput('x', x)\n"
			_, err := compile(t, text, Options{MaxTotalBytes: 16 << 20})
			refused := model.KindOf(err) == "FuelExhaustedError" && strings.Contains(err.Error(), "bytes of values")
			if refused != c.refused {
				t.Errorf("%s, %s: error %v, want a refusal: %v", handle, c.why, err, c.refused)
			}
		}
	}
}
