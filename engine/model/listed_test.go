package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestListed(t *testing.T) {
	texts := make([]string, 3000)
	for i := range texts {
		texts[i] = fmt.Sprintf("n%04d", i)
	}
	for _, tc := range []struct {
		reason, want string
		n            int
	}{
		{"nothing", "", 0},
		{"one", "n0000", 1},
		{"as many as are named", strings.Join(texts[:20], ", "), 20},
		{"one beyond them", strings.Join(texts[:20], ", ") + ", and 1 more", 21},
		{"many", strings.Join(texts[:20], ", ") + ", and 2980 more", 3000},
	} {
		if got := model.Listed(texts[:tc.n], ", "); got != tc.want {
			t.Errorf("%s: %.200q", tc.reason, got)
		}
	}
	if texts[20] != "n0020" {
		t.Error("the caller's texts changed")
	}
}
