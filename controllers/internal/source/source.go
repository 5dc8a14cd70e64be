// Package source turns what a Stack's spec.source names into the files of one
// configuration, with the digest that identifies them.
//
// It must never know how a configuration is compiled.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Limits of a source. The API server enforces most of them at admission; they are
// checked again here because what is stored may be older than the schema.
const (
	MaxInlineFiles = 64
	MaxInlineBytes = 64 << 10
	// MaxConfigMapBytes is what the API server accepts of a ConfigMap.
	MaxConfigMapBytes = 1 << 20
)

// Source is a configuration's folder.
type Source struct {
	Files      map[string]string
	Entrypoint string // a key of Files
	// Digest is "sha256:" and 64 hex digits over the names, the texts and the
	// entrypoint; equal folders have equal digests wherever they are kept.
	Digest string
}

// Text of the file that is evaluated.
func (s *Source) Text() string { return s.Files[s.Entrypoint] }

// Resolve reads the source of a Stack. A source that cannot be used as it stands,
// a missing ConfigMap included, is a user error; one that cannot be read just now is
// transient.
func Resolve(ctx context.Context, reader client.Reader, stack *v1alpha1.Stack) (*Source, error) {
	switch from := stack.Spec.Source; {
	case from.Inline != nil && from.ConfigMapRef == nil:
		return fromInline(from.Inline)
	case from.ConfigMapRef != nil && from.Inline == nil:
		return fromConfigMap(ctx, reader, stack.Namespace, from.ConfigMapRef)
	default:
		return nil, invalid("spec.source must have exactly one of inline and configMapRef")
	}
}

func fromInline(in *v1alpha1.InlineSource) (*Source, error) {
	if len(in.Files) > MaxInlineFiles {
		return nil, invalid("spec.source.inline.files holds %d files; at most %d are allowed", len(in.Files), MaxInlineFiles)
	}
	files := make(map[string]string, len(in.Files))
	for name, text := range in.Files {
		files[name] = string(text)
	}
	return build(files, in.Entrypoint, "spec.source.inline", MaxInlineBytes)
}

func fromConfigMap(ctx context.Context, reader client.Reader, namespace string, ref *v1alpha1.ConfigMapSource) (*Source, error) {
	var cm corev1.ConfigMap
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &cm)
	switch {
	case apierrors.IsNotFound(err):
		return nil, invalid("ConfigMap '%s', which spec.source.configMapRef names, does not exist in namespace '%s'; create it", ref.Name, namespace)
	case err != nil:
		return nil, model.Errorf(model.AtlantideError, model.ClassTransient, "cannot read ConfigMap '%s': %w", ref.Name, err)
	}
	return build(cm.Data, ref.Entrypoint, "ConfigMap '"+ref.Name+"'", MaxConfigMapBytes)
}

func build(files map[string]string, entrypoint, where string, limit int) (*Source, error) {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		total += len(files[name])
		if !utf8.ValidString(files[name]) {
			return nil, invalid("file '%s' of %s is not valid UTF-8", name, where)
		}
	}
	if total > limit {
		return nil, invalid("the files of %s hold %d bytes; at most %d are allowed", where, total, limit)
	}
	if _, ok := files[entrypoint]; !ok {
		return nil, invalid("%s has no file '%s', which its entrypoint names", where, entrypoint)
	}
	return &Source{Files: files, Entrypoint: entrypoint, Digest: digest(files, entrypoint)}, nil
}

// digest hashes length-prefixed texts, so that no two folders share their bytes.
func digest(files map[string]string, entrypoint string) string {
	h := sha256.New()
	put := func(text string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	put(entrypoint)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		put(name)
		put(files[name])
	}
	return ir.DigestPrefix + hex.EncodeToString(h.Sum(nil))
}

// InvalidError marks what the user has to change in the Stack's source or inputs, as
// opposed to in the configuration itself.
type InvalidError struct{ cause *model.Error }

func (e InvalidError) Error() string { return e.cause.Error() }
func (e InvalidError) Unwrap() error { return e.cause }

func invalid(format string, args ...any) error {
	return InvalidError{model.Errorf(model.AtlantideError, model.ClassUser, format, args...)}
}
