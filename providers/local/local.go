// Package local owns the provider "local": files under a root folder, texts of the
// config's own source tree, and Null, which makes nothing.
//
// Where files may go is a policy given at construction: the project folder of the
// command line (NewProject) or one confined folder per owner (NewTenants). Every
// access goes through os.Root, and a path that meets a link, a device or a pipe is
// refused (providers.md 6.3). The package must never know the engine or Kubernetes.
package local

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// Provider implements providers.Provider.
type Provider struct {
	policy policy
	schema *model.ProviderSchema
	locks  stripes
}

func newProvider(p policy) *Provider { return &Provider{policy: p, schema: declared(p.address)} }

// policy says which folder holds a node's files and which paths are good there.
type policy interface {
	// validate judges all File nodes of one plan; markers may be left in their inputs.
	validate(files []*model.Request) error
	// locate finds the place of a path that was resolved.
	locate(r *model.Request, path string) (*place, error)
	// address is the one spelling of a path among all that name the same file.
	address(path string) string
}

// Schema is the declaration of the types.
func (p *Provider) Schema() *model.ProviderSchema { return p.schema }

// Validate refuses what is known to be wrong before anything runs.
func (p *Provider) Validate(_ context.Context, nodes []*model.Request) error {
	var files []*model.Request
	for _, r := range nodes {
		if r.Node.Type == typeFile {
			files = append(files, r)
		}
	}
	return p.policy.validate(files)
}

// Create writes a file, also over what an interrupted create left there.
func (p *Provider) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return p.put(ctx, "create", r)
}

// Update writes a file again, with its parents where they are gone.
func (p *Provider) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	return p.put(ctx, "update", r)
}

func (p *Provider) put(ctx context.Context, op string, r *model.Request) (model.Outputs, error) {
	switch r.Node.Type {
	case typeNull:
		return model.Outputs{}, nil
	case typeSourceFile:
		return copySource(ctx, op, r)
	case typeFile:
		outputs, err := p.writeFile(r)
		return outputs, failed(op, r, err)
	}
	return nil, cannot(op, r)
}

// Read reports the path and the checksum of a file. Its content is not reported, so a
// refresh counts it as not checked; of a SourceFile it is the output.
func (p *Provider) Read(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	switch r.Node.Type {
	case typeNull:
		return model.Observed{}, true, nil
	case typeSourceFile:
		return readSource(ctx, r)
	case typeFile:
		observed, err := p.readFile(r)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		return observed, err == nil, failed("read", r, err)
	}
	return nil, false, cannot("read", r)
}

// Delete removes a file; a SourceFile stays, it belongs to the config.
func (p *Provider) Delete(_ context.Context, r *model.Request) error {
	switch r.Node.Type {
	case typeNull, typeSourceFile:
		return nil
	case typeFile:
		return failed("delete", r, p.deleteFile(r))
	}
	return cannot("delete", r)
}

func (p *Provider) writeFile(r *model.Request) (model.Outputs, error) {
	path, ok := r.Inputs[fieldPath].(string)
	if !ok {
		return nil, refuse("its path is not a text")
	}
	content, ok := r.Inputs[fieldContent].(string)
	if !ok {
		return nil, refuse("the content of '%s' is not a text", shown(path))
	}
	at, err := p.policy.locate(r, path)
	if err != nil {
		return nil, err
	}
	defer p.locks.lock(at.root)()
	if err := at.write([]byte(content)); err != nil {
		return nil, err
	}
	return model.Outputs{fieldPath: path, fieldChecksum: checksum([]byte(content))}, nil
}

func (p *Provider) readFile(r *model.Request) (model.Observed, error) {
	path, ok := recordedPath(r)
	if !ok {
		return nil, refuse("its path is not known")
	}
	at, err := p.policy.locate(r, path)
	if err != nil {
		return nil, err
	}
	sum, err := at.checksum()
	if err != nil {
		return nil, err
	}
	return model.Observed{fieldPath: path, fieldChecksum: sum}, nil
}

// deleteFile needs no path that nobody recorded: a create whose path came from an
// output that is gone cannot have been called. Nor does it mind a path that is refused
// where no write of it was ever confirmed: that create was refused like this delete.
func (p *Provider) deleteFile(r *model.Request) error {
	path, ok := recordedPath(r)
	if !ok {
		return nil
	}
	at, err := p.policy.locate(r, path)
	written := r.Prior != nil && len(r.Prior.Outputs) > 0
	if err != nil && !written && model.ClassOf(err) == model.ClassUser && !errors.Is(err, errOff) {
		return nil // of that path there is nothing to delete
	}
	if err != nil {
		return err
	}
	defer p.locks.lock(at.root)()
	return at.remove()
}

// recordedPath is where the file was last written. The output counts before the
// input: an input that is made from references follows them, the file does not.
func recordedPath(r *model.Request) (string, bool) {
	if r.Prior != nil {
		if path, ok := r.Prior.Outputs[fieldPath].(string); ok {
			return path, true
		}
	}
	path, ok := r.Inputs[fieldPath].(string)
	return path, ok
}

// failed gives an error of an operation its type, the operation and a text in which
// no folder of the machine is named.
func failed(op string, r *model.Request, err error) error {
	if err == nil {
		return nil
	}
	class := model.ClassOf(err)
	e := model.Errorf(model.ProviderError, class, "local %s of '%s' failed: %w", op, r.Node.Type, bare(err))
	e.Op, e.ResourceType, e.NodeID = op, r.Node.Type, r.Node.ID
	return e
}

func cannot(op string, r *model.Request) error {
	e := model.Errorf(model.ProviderError, model.ClassUser, "local provider cannot %s '%s'", op, r.Node.Type)
	e.Op, e.ResourceType, e.NodeID = op, r.Node.Type, r.Node.ID
	return e
}

// bare takes the operating system's path off an error.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// refuse is an error that the config's author can mend.
func refuse(format string, args ...any) error {
	return model.Errorf(model.ProviderError, model.ClassUser, format, args...)
}

// literal is the text of an input that is known at plan.
func literal(r *model.Request, field string) (string, bool) {
	text, ok := r.Inputs[field].(string)
	return text, ok
}
