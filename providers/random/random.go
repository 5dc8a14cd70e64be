// Package random owns the provider "random": values that are drawn once and kept in
// state (providers.md 6.1).
//
// Randomness and the time are injected. The package must never know the engine or
// Kubernetes, nor write what it drew anywhere.
package random

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Provider implements providers.Provider.
type Provider struct {
	source io.Reader
	now    func() time.Time
}

// New draws from source, which must be safe for concurrent use and fit for secrets
// (crypto/rand.Reader), and takes the time from now.
func New(source io.Reader, now func() time.Time) *Provider {
	return &Provider{source: source, now: now}
}

// Schema is the declaration of the types.
func (p *Provider) Schema() *model.ProviderSchema { return schema }

// Validate has nothing to add to the constraints of the schema.
func (p *Provider) Validate(context.Context, []*model.Request) error { return nil }

// Create draws a new result, also where an earlier try or the old half of a replace
// recorded one: nothing can depend on that any more.
func (p *Provider) Create(_ context.Context, r *model.Request) (model.Outputs, error) {
	result, err := p.draw(r)
	if err != nil {
		return nil, failed("create", r, err)
	}
	return model.Outputs{fieldResult: result}, nil
}

// Read reports the recorded result; without one the value does not exist, and nothing
// could find it.
func (p *Provider) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	result, ok := recorded(r)
	if !ok {
		return nil, false, nil
	}
	return model.Observed{fieldResult: result}, true, nil
}

// Update keeps the recorded result; no input is mutable.
func (p *Provider) Update(_ context.Context, r *model.Request) (model.Outputs, error) {
	result, ok := recorded(r)
	if !ok {
		return nil, failed("update", r, refuse("no result is recorded for it"))
	}
	return model.Outputs{fieldResult: result}, nil
}

// Delete has nothing to remove.
func (p *Provider) Delete(context.Context, *model.Request) error { return nil }

func (p *Provider) draw(r *model.Request) (string, error) {
	switch r.Node.Type {
	case typeUUID:
		id, err := uuid.NewRandomFromReader(p.source)
		return id.String(), err
	case typePassword:
		n, err := sizeOf(r, fieldLength, maxLength)
		if err != nil {
			return "", err
		}
		return p.password(n)
	case typeID:
		n, err := sizeOf(r, fieldByteLength, maxByteLength)
		if err != nil {
			return "", err
		}
		bytes := make([]byte, n)
		_, err = io.ReadFull(p.source, bytes)
		return hex.EncodeToString(bytes), err
	case typeTimestamp:
		return p.now().UTC().Format("2006-01-02T15:04:05.000000") + "+00:00", nil
	}
	return "", refuse("the provider has no such type")
}

// alphabet holds the characters of a password, each as likely as any other.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*()-_=+"

// unbiased is the largest multiple of the alphabet's size that a byte can hold; bytes
// from there on are drawn again, so that no character is favoured.
const unbiased = 256 / len(alphabet) * len(alphabet)

func (p *Provider) password(n int) (string, error) {
	out := make([]byte, 0, n)
	batch := make([]byte, n)
	for len(out) < n {
		batch = batch[:n-len(out)]
		if _, err := io.ReadFull(p.source, batch); err != nil {
			return "", err
		}
		for _, b := range batch {
			if int(b) < unbiased {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}

// sizeOf reads a size whose value may have come from a reference, which the schema
// could not judge.
func sizeOf(r *model.Request, field string, most int64) (int, error) {
	n, ok := r.Inputs[field].(int64)
	if !ok || n < 1 || n > most {
		return 0, refuse("%s must be an int from 1 to %d, not %v", field, most, r.Inputs[field])
	}
	return int(n), nil
}

func recorded(r *model.Request) (string, bool) {
	if r.Prior == nil {
		return "", false
	}
	result, ok := r.Prior.Outputs[fieldResult].(string)
	return result, ok
}

// failed gives an error of an operation its type and node. What the source of
// randomness says may pass with a retry.
func failed(op string, r *model.Request, err error) error {
	e := model.Errorf(model.ProviderError, model.ClassOf(err), "random %s of '%s' failed: %w", op, r.Node.Type, err)
	e.Op, e.ResourceType, e.NodeID = op, r.Node.Type, r.Node.ID
	return e
}

func refuse(format string, args ...any) error {
	return model.Errorf(model.ProviderError, model.ClassUser, format, args...)
}
