package providers_test

import (
	"context"
	"slices"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
)

type named struct {
	providers.Provider
	schema model.ProviderSchema
}

func (n named) Schema() *model.ProviderSchema { return &n.schema }

func (n named) Validate(context.Context, []*model.Request) error { return nil }

func (n named) Create(context.Context, *model.Request) (model.Outputs, error) { return nil, nil }

func (n named) Read(context.Context, *model.Request) (model.Observed, bool, error) {
	return nil, false, nil
}

func (n named) Update(context.Context, *model.Request) (model.Outputs, error) { return nil, nil }

func (n named) Delete(context.Context, *model.Request) error { return nil }

func provider(name, version string) named {
	return named{schema: model.ProviderSchema{Name: name, Version: version}}
}

func TestNewRegistry(t *testing.T) {
	r, err := providers.NewRegistry(provider("a", "1.0.0"), provider("b", "0.2.13"))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := r.Provider("b"); !ok || p == nil {
		t.Error("a registered provider is not found")
	}
	if _, ok := r.Provider("c"); ok {
		t.Error("an unknown provider is found")
	}
	if r.Schemas().Provider("a") == nil {
		t.Error("the schema is not found")
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  []providers.Provider
	}{
		{"no name", []providers.Provider{provider("", "1.0.0")}},
		{"a name twice", []providers.Provider{provider("a", "1.0.0"), provider("a", "1.0.1")}},
		{"two parts", []providers.Provider{provider("a", "1.0")}},
		{"a suffix", []providers.Provider{provider("a", "1.0.0-rc1")}},
		{"a line end", []providers.Provider{provider("a", "1.0.0\n")}},
	} {
		if _, err := providers.NewRegistry(c.given...); !model.IsKind(err, model.RegistryError) {
			t.Errorf("%s: %v, want a RegistryError", c.reason, err)
		}
	}
}

func TestCount(t *testing.T) {
	ctx := context.Background()
	var seen []string
	p := providers.Count(provider("a", "1.0.0"), func(provider, op string) { seen = append(seen, provider+" "+op) })
	_ = p.Validate(ctx, nil)
	_, _ = p.Create(ctx, nil)
	_, _, _ = p.Read(ctx, nil)
	_, _ = p.Update(ctx, nil)
	_ = p.Delete(ctx, nil)
	if want := []string{"a create", "a read", "a update", "a delete"}; !slices.Equal(seen, want) {
		t.Errorf("counted %v, want %v", seen, want)
	}
}
