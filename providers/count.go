package providers

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Count reports every operation of p that reaches the world to inc, before it runs,
// as the provider's name and create, read, update or delete. Validate is pure and not
// counted.
func Count(p Provider, inc func(provider, op string)) Provider {
	return counted{Provider: p, inc: func(op string) { inc(p.Schema().Name, op) }}
}

type counted struct {
	Provider
	inc func(op string)
}

func (c counted) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	c.inc("create")
	return c.Provider.Create(ctx, r)
}

func (c counted) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	c.inc("read")
	return c.Provider.Read(ctx, r)
}

func (c counted) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	c.inc("update")
	return c.Provider.Update(ctx, r)
}

func (c counted) Delete(ctx context.Context, r *model.Request) error {
	c.inc("delete")
	return c.Provider.Delete(ctx, r)
}
