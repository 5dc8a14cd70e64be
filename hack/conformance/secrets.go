package main

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// vault is the keyfile store of a case and its install key, in a folder of their own:
// they are no part of the working directory. Where a case names neither, nothing is defined
// and there is no key.
type vault struct {
	dir   string
	store *secrets.Keyfile
	keys  secrets.Keys // nil = there is none
}

func openVault(c caseFile) (*vault, error) {
	dir, err := os.MkdirTemp("", "conformance-secrets-")
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "atlantide.key")
	v := &vault{dir: dir, store: &secrets.Keyfile{Path: filepath.Join(dir, "atlantide.secrets"), Keys: secrets.KeyFile{Path: key}}}
	if c.KeyHex != "" {
		v.keys = v.store.Keys
		raw, err := hex.DecodeString(c.KeyHex)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(key, raw, 0o600); err != nil {
			return nil, err
		}
	}
	if err := v.fill(context.Background(), c.Secrets); err != nil {
		return nil, err
	}
	return v, nil
}

// fill replaces the content of the store.
func (v *vault) fill(ctx context.Context, values map[string]string) error {
	names, err := v.store.Names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := v.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	for name, value := range values {
		if err := v.store.Set(ctx, name, secrets.NewText(value)); err != nil {
			return err
		}
	}
	return nil
}

// session is what one run of a partition sees.
func (v *vault) session(partition string) (*secrets.Session, error) {
	registry, err := secrets.NewRegistry("", v.store)
	if err != nil {
		return nil, err
	}
	return secrets.NewSession(secrets.Options{Registry: registry, Keys: v.keys, Partition: partition}), nil
}
