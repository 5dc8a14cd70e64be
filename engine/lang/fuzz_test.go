package lang

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// No text may end the process, run on, take more memory than its budget, or fail with
// anything but an error of ours.
func FuzzEvaluate(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "conformance", "vectors", "*", "infra.py"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no vectors to start from: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	const memory = 32 << 20
	schemas := testSchemas(f)
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		before := allocated()
		_, err := Compile(ctx, Source{Filename: "fuzz.py", Text: text}, Options{Schemas: schemas, Fuel: 20_000, MaxTotalBytes: memory})
		// What was freed meanwhile counts here: the parser's tokens, what natives read.
		if took := allocated() - before; took > 4*memory {
			t.Fatalf("%d MiB were allocated under a cap of %d MiB", took>>20, memory>>20)
		}
		var known *model.Error
		if err != nil && !errors.As(err, &known) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if known != nil && (known.Class != model.ClassUser || strings.Contains(known.Message, "0xc0")) {
			t.Fatalf("class %s: %v", known.Class, known)
		}
	})
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
