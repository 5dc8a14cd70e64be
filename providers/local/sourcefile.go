package local

import (
	"context"
	"errors"
	"io/fs"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// A SourceFile is read from the tree that came with the config, never from a folder of
// this machine (providers.md 6.3, rule 9). It makes nothing.

// sourceText is the content as an output.
func sourceText(ctx context.Context, r *model.Request) (string, error) {
	path, ok := r.Inputs[fieldPath].(string)
	if !ok {
		return "", refuse("its path is not a text")
	}
	if r.Source == nil {
		return "", refuse("'%s' cannot be read: the run has no source tree; run it with the files that the config came with", shown(path))
	}
	reader := &sourcetree.Reader{Tree: r.Source}
	content, err := reader.Text(ctx, path)
	switch {
	case err == nil:
		return content, nil
	case ctx.Err() != nil:
		return "", model.Errorf(model.ProviderError, model.ClassTransient, "reading '%s' was interrupted: %w", shown(path), err)
	}
	return "", refuse("%w", err)
}

func readSource(ctx context.Context, r *model.Request) (model.Observed, bool, error) {
	content, err := sourceText(ctx, r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, failed("read", r, err)
	}
	return model.Observed{fieldContent: content}, true, nil
}

func copySource(ctx context.Context, op string, r *model.Request) (model.Outputs, error) {
	content, err := sourceText(ctx, r)
	if err != nil {
		return nil, failed(op, r, err)
	}
	return model.Outputs{fieldContent: content}, nil
}
