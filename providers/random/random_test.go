package random_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

var _ providers.Provider = (*random.Provider)(nil)

func request(class string, inputs map[string]any) *model.Request {
	return &model.Request{Node: model.NodeOf("s:random." + class + ":n"), Inputs: inputs}
}

func at(text string) func() time.Time {
	return func() time.Time {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err)
		}
		return when
	}
}

func TestCreate(t *testing.T) {
	const noon = "2026-01-02T12:00:00Z"
	counting := make([]byte, 256)
	for i := range counting {
		counting[i] = byte(i)
	}
	for _, c := range []struct {
		reason, class string
		inputs        map[string]any
		source        []byte
		now           string
		want          string
	}{
		{"a UUID says its version and variant", "Uuid", nil, bytes.Repeat([]byte{0xff}, 16), noon, "ffffffff-ffff-4fff-bfff-ffffffffffff"},
		{"an id is lower-case hex", "Id", map[string]any{"byte_length": int64(3)}, []byte{0x00, 0xab, 0xff}, noon, "00abff"},
		{"the alphabet's first, its 76th and again its first", "Password", map[string]any{"length": int64(3)}, []byte{0, 75, 76}, noon, "A+A"},
		{"228 and above are drawn again, so that none is likelier", "Password", map[string]any{"length": int64(2)}, []byte{228, 227, 255, 1}, noon, "+B"},
		{"every byte below gives each character three times", "Password", map[string]any{"length": int64(228)}, counting, noon,
			strings.Repeat("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*()-_=+", 3)},
		{"six digits", "Timestamp", nil, nil, "2026-01-02T03:04:05.678901234Z", "2026-01-02T03:04:05.678901+00:00"},
		{"a fraction of zero is written", "Timestamp", nil, nil, noon, "2026-01-02T12:00:00.000000+00:00"},
		{"another zone is turned into UTC", "Timestamp", nil, nil, "2026-01-02T01:00:00.5+02:00", "2026-01-01T23:00:00.500000+00:00"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := request(c.class, c.inputs)
			r.Prior = &model.Prior{Outputs: map[string]any{"result": "of an earlier try"}} // never taken up again
			got, err := random.New(bytes.NewReader(c.source), at(c.now)).Create(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(model.Outputs{"result": c.want}, got); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	broken := iotest.ErrReader(errors.New("no entropy"))
	for _, c := range []struct {
		reason, class string
		inputs        map[string]any
		source        io.Reader
		errorClass    model.Class
		says          []string
	}{
		{"a size made by a reference is judged here", "Password", map[string]any{"length": int64(0)}, rand.Reader, model.ClassUser, []string{"length", "1 to 4096", "not 0"}},
		{"so is one beyond the most", "Id", map[string]any{"byte_length": int64(1025)}, rand.Reader, model.ClassUser, []string{"byte_length", "1 to 1024", "not 1025"}},
		{"a text is no size", "Id", map[string]any{"byte_length": "3"}, rand.Reader, model.ClassUser, []string{"byte_length"}},
		{"a type that there is not", "Dice", nil, rand.Reader, model.ClassUser, []string{"random.Dice"}},
		{"randomness may come back", "Uuid", nil, broken, model.ClassUnknown, []string{"no entropy"}},
		{"a password is never cut short", "Password", map[string]any{"length": int64(4)}, bytes.NewReader([]byte{1, 2}), model.ClassUnknown, []string{"random.Password"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := random.New(c.source, time.Now).Create(context.Background(), request(c.class, c.inputs))
			if got != nil || !model.IsKind(err, model.ProviderError) || model.ClassOf(err) != c.errorClass {
				t.Fatalf("outputs %v, error %v of class %s", got, err, model.ClassOf(err))
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q lacks %q", err, s)
				}
			}
		})
	}
}

func TestReadUpdateDelete(t *testing.T) {
	ctx, p := context.Background(), random.New(rand.Reader, time.Now)
	r := request("Uuid", nil)
	for _, prior := range []*model.Prior{nil, {}, {Outputs: map[string]any{"result": int64(3)}}} {
		r.Prior = prior
		if got, found, err := p.Read(ctx, r); got != nil || found || err != nil {
			t.Errorf("prior %v is read as %v, %t, %v", prior, got, found, err)
		}
		if _, err := p.Update(ctx, r); model.ClassOf(err) != model.ClassUser {
			t.Errorf("prior %v is updated: %v", prior, err)
		}
	}
	r.Prior = &model.Prior{Outputs: map[string]any{"result": "kept"}}
	if got, found, err := p.Read(ctx, r); !found || err != nil || got["result"] != "kept" {
		t.Errorf("read %v, %t, %v", got, found, err)
	}
	if got, err := p.Update(ctx, r); err != nil || got["result"] != "kept" {
		t.Errorf("updated to %v, %v", got, err)
	}
	if err := p.Delete(ctx, r); err != nil {
		t.Error(err)
	}
	if err := p.Validate(ctx, []*model.Request{r}); err != nil {
		t.Error(err)
	}
}

func TestRealRandomness(t *testing.T) {
	p := random.New(rand.Reader, time.Now)
	shape := map[string]*regexp.Regexp{
		"Uuid":      regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		"Password":  regexp.MustCompile(`^[A-Za-z0-9!@#$%^&*()\-_=+]{1000}$`),
		"Id":        regexp.MustCompile(`^[0-9a-f]{1000}$`),
		"Timestamp": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`),
	}
	for class, want := range shape {
		r := request(class, map[string]any{"length": int64(1000), "byte_length": int64(500)})
		first, err := p.Create(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := first["result"].(string); !want.MatchString(text) {
			t.Errorf("%s: %.80q", class, text)
		}
		second, err := p.Create(context.Background(), r)
		if err != nil || class != "Timestamp" && cmp.Equal(first, second) {
			t.Errorf("%s is drawn twice alike: %v", class, err)
		}
	}
}
