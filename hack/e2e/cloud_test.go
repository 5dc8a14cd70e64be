package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/apply/applytest"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// cloud is a cloud that lies in a file, as it outlives the processes that call it.
type cloud struct{ *applytest.Cloud }

// openCloud reads a cloud; a file that is not there yet is one in which nothing exists.
func openCloud(path string) (cloud, error) {
	c := cloud{applytest.NewCloud()}
	c.Keep = func(w applytest.World) error {
		text, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c.World)
}

func (cloud) Schema() *model.ProviderSchema { return applytest.Schema() }

func (cloud) Validate(context.Context, []*model.Request) error { return nil }

// fated is a cloud in which something happens to the run that calls it.
type fated struct {
	cloud
	fate   applytest.Fate
	cancel context.CancelCauseFunc
}

var errFate = errors.New("as it was to be")

func (f fated) meet(op string, r *model.Request) error {
	if r.Node.Name != f.fate.Node {
		return nil
	}
	switch f.fate.Ends {
	case applytest.Fails:
		if op != "delete" {
			return errFate
		}
	case applytest.Interrupted:
		f.cancel(context.Canceled)
	case applytest.HandedOver:
		f.cancel(apply.ErrHandOver)
	}
	return nil
}

func (f fated) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := f.meet("create", r); err != nil {
		return nil, err
	}
	return f.cloud.Create(ctx, r)
}

func (f fated) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := f.meet("update", r); err != nil {
		return nil, err
	}
	return f.cloud.Update(ctx, r)
}

func (f fated) Delete(ctx context.Context, r *model.Request) error {
	if err := f.meet("delete", r); err != nil {
		return err
	}
	return f.cloud.Delete(ctx, r)
}

// met is nil for the error of a run that met its fate.
func (o order) met(err error) error {
	if o.Fate.Ends != applytest.Whole && (errors.Is(err, errFate) || model.IsKind(err, model.InterruptedRunError)) {
		return nil
	}
	return err
}

// session is what a run sees of secrets: the one that it was given, and a key that every
// process has.
func (o order) session() (*secrets.Session, error) {
	registry, err := secrets.NewRegistry("", o)
	if err != nil {
		return nil, err
	}
	return secrets.NewSession(secrets.Options{Registry: registry, Keys: fixedKey{}, Partition: o.Partition}), nil
}

// Name and Resolve make an order the store of its one secret.
func (order) Name() string { return "order" }

func (o order) Resolve(context.Context, string) (secrets.Text, error) {
	return secrets.NewText(o.Secret), nil
}

type fixedKey struct{}

func (fixedKey) Load() (*secrets.Keyring, error) {
	key, err := secrets.NewKey(make([]byte, secrets.KeySize))
	if err != nil {
		return nil, err
	}
	return secrets.NewKeyring("the tests", key), nil
}

func (k fixedKey) Make() (*secrets.Keyring, error) { return k.Load() }
