package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// KeyfileName is the name of the provider that reads an encrypted file.
const KeyfileName = "keyfile"

const (
	storeHeader = "ATLSTORE1\n"
	storeScheme = "atlantide/store/v1"

	maxStore = 16 << 20 // bytes of names and values
	// storeOverhead is what stands around them: header, nonce and tag.
	storeOverhead = len(storeHeader) + 12 + 16
)

// Keyfile keeps secrets in one file, encrypted with the install key (SC-3). A reader sees
// the file as one writer left it; writers, in this process and others, wait for each other.
type Keyfile struct {
	Path string
	Keys Keys
	Rand io.Reader // of nonces; nil = crypto/rand
}

// Name is KeyfileName.
func (k *Keyfile) Name() string { return KeyfileName }

// Resolve reads the file.
func (k *Keyfile) Resolve(_ context.Context, name string) (Text, error) {
	values, err := k.read()
	if err != nil {
		return Text{}, err
	}
	return k.find(values, name)
}

func (k *Keyfile) find(values map[string]Text, name string) (Text, error) {
	value, ok := values[name]
	if !ok {
		return Text{}, userErrorf("'%s' is not in the secret store %s; set it: atlantide secret set '%s'", name, sourcetree.Shown(k.Path), name)
	}
	return value, nil
}

// Check tells an absent store, which is fine, from one that does not decrypt.
func (k *Keyfile) Check(context.Context) Check {
	values, err := k.read()
	switch {
	case err != nil:
		return checkOf(k, StatusFail, err.Error())
	case values == nil:
		return checkOf(k, StatusOK, "there is no store yet at "+sourcetree.Shown(k.Path))
	}
	return checkOf(k, StatusOK, fmt.Sprintf("%d secrets in %s", len(values), sourcetree.Shown(k.Path)))
}

// Names lists what is defined, sorted.
func (k *Keyfile) Names(context.Context) ([]string, error) {
	values, err := k.read()
	return slices.Sorted(maps.Keys(values)), err
}

// Set defines or redefines a secret. It makes the install key if there is none, unless
// there is a store, which another key wrote.
func (k *Keyfile) Set(ctx context.Context, name string, value Text) error {
	if err := errors.Join(checkName(name), checkValue(name, value.Reveal())); err != nil {
		return err
	}
	return k.change(ctx, func(values map[string]Text) bool {
		values[name] = value
		return true
	})
}

// Delete reports whether there was such a secret.
func (k *Keyfile) Delete(ctx context.Context, name string) (bool, error) {
	found := false
	err := k.change(ctx, func(values map[string]Text) bool {
		_, found = values[name]
		delete(values, name)
		return found
	})
	return found && err == nil, err
}

// change edits the store as its only writer; edit says whether it did anything. A file of
// an older form is written in the new one (ST-23).
func (k *Keyfile) change(ctx context.Context, edit func(values map[string]Text) bool) error {
	path, err := followed(k.Path)
	if err != nil {
		return err
	}
	release, err := lockFile(ctx, "the secret store", path+".lock")
	if err != nil {
		return err
	}
	defer release()
	values, err := k.read()
	if err != nil {
		return err
	}
	source := k.Keys.Load
	if values == nil {
		values, source = map[string]Text{}, k.Keys.Make
	}
	if !edit(values) {
		return nil
	}
	ring, err := source()
	if err != nil {
		return err
	}
	data, err := encodeStore(values, ring.current(), randomOr(k.Rand))
	if err != nil {
		return err
	}
	removeLeftovers(path)
	return writeFile("the secret store", path, data, os.Rename)
}

// read is nil where there is no store.
func (k *Keyfile) read() (map[string]Text, error) {
	data, _, err := readFile("the secret store", k.Path, int64(maxStore+storeOverhead))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ring, err := k.Keys.Load()
	if err != nil {
		return nil, err
	}
	values, err := decodeStore(data, ring)
	if err != nil {
		return nil, userErrorf("the secret store %s cannot be read with %s: %w", sourcetree.Shown(k.Path), ring.origin, err)
	}
	return values, nil
}

// ForRun reads the file once, when it is first asked.
func (k *Keyfile) ForRun() Provider {
	return &keyfileView{Keyfile: k, read: sync.OnceValues(k.read)}
}

// keyfileView is the store as it was at one instant.
type keyfileView struct {
	*Keyfile
	read func() (map[string]Text, error)
}

func (v *keyfileView) Resolve(_ context.Context, name string) (Text, error) {
	values, err := v.read()
	if err != nil {
		return Text{}, err
	}
	return v.find(values, name)
}

// followed is where a store lies that may be reached by a link, which must stay one.
func followed(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil //nolint:nilerr // what cannot be looked at cannot be read either, which says why
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errDangling
	}
	if err != nil {
		return "", fileError("write", "the secret store", path, err)
	}
	return target, nil
}

func encodeStore(values map[string]Text, key Key, random io.Reader) ([]byte, error) {
	plain := make(map[string]any, len(values))
	for name, value := range values {
		plain[name] = value.Reveal()
	}
	text, err := model.EncodeJSON(plain)
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxStore:
		return nil, userErrorf("the secret store would be longer than %d bytes; remove secrets that nothing reads", maxStore)
	}
	sealed, err := key.encrypt(random, text, storeScheme)
	if err != nil {
		return nil, err
	}
	return append([]byte(storeHeader), sealed...), nil
}

// decodeStore reads both forms of a store: with a header, and of release 0.3, which has
// neither header nor associated data.
func decodeStore(data []byte, ring *Keyring) (map[string]Text, error) {
	additional := ""
	body, versioned := bytes.CutPrefix(data, []byte(storeHeader))
	if versioned {
		additional = storeScheme
	}
	text, err := ring.decrypt(body, additional)
	if err != nil {
		return nil, errors.New("another key wrote it, or it is damaged; provide the key that wrote it, or restore the file")
	}
	plain, err := model.DecodeJSON(text)
	entries, ok := plain.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("what it holds is no map of names to values; restore the file")
	}
	values := make(map[string]Text, len(entries))
	for name, entry := range entries {
		value, ok := entry.(string)
		if !ok {
			return nil, fmt.Errorf("the value of '%s' is no text; restore the file", sourcetree.Shown(name))
		}
		values[name] = NewText(value)
	}
	return values, nil
}
