package py

import (
	"os"
	"strings"
	"testing"
)

func TestZZDiff(t *testing.T) {
	in, _ := os.ReadFile("/tmp/diff/corpus.txt")
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSuffix(string(in), "\n"), "\n") {
		th := newThread(t, Limits{})
		b.WriteString(run(th, l, nil) + "\n")
		MeterOf(th).Close()
	}
	os.WriteFile("/tmp/diff/got.txt", []byte(b.String()), 0o644)
}
