package apply

import (
	"context"
	"errors"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// Secrets is what a run may use of secrets and of key material. The zero value has
// neither: no handle resolves, nothing is sealed.
type Secrets struct {
	// Resolve gives the value that a handle names; nil = no handle has one.
	Resolve  func(ctx context.Context, ref model.SecretRef) (string, error)
	Digests  plan.SecretDigests // compares what was recorded; nil = there is no key
	Unsealer plan.Unsealer      // nil = what is sealed is not readable
	Recorder Recorder           // nil = secrets leave no digest, and nothing is sealed
	// Scrub takes the secrets of the run out of a text that leaves it; nil = there are none.
	Scrub func(text string) string
	// Holds reports whether a secret of the run stands whole in a text. Scrub takes more out
	// of what is only read; what is sealed stays so. nil = what Scrub changes does.
	Holds func(text string) bool

	told *confidences // of the run; nil = nobody listens yet
}

// listening are the secrets of one run, which remembers what it is told.
func (s Secrets) listening() Secrets {
	s.told = &confidences{}
	if resolve := s.Resolve; resolve != nil {
		told := s.told
		s.Resolve = func(ctx context.Context, ref model.SecretRef) (string, error) {
			value, err := resolve(ctx, ref)
			if err == nil {
				told.tell(value)
			}
			return value, err
		}
	}
	return s
}

// scrub takes out of a text what may not leave the run: whole values first, in which there
// may be others that nobody knows any more.
func (s Secrets) scrub(text string) string {
	if text == "" {
		return ""
	}
	text = s.told.scrub(text)
	if s.Scrub != nil {
		text = s.Scrub(text)
	}
	return text
}

// Recorder makes what a run writes of secrets.
type Recorder interface {
	// Digest is the digest of a secret within a scope (SC-13).
	Digest(text, scope string) (string, error)
	// Seal is v as it may lie in a store, bound to where it lies: owner is the uid of a row
	// and field its output, or owner is the key of a committed output and field is "".
	Seal(v any, owner, field string) (any, error)
}

// secretDigests are the digests that a row keeps of its node's secrets, and of the outputs
// of others that it reads (PL-7, PL-10).
func (s Secrets) secretDigests(c *plan.Change, uid string, committed map[string]state.Output, resolve func(model.SecretRef) (string, error)) (map[string]string, error) {
	digests := plan.StackOutputDigests(c.Desired, committed)
	if s.Recorder == nil {
		return digests, nil
	}
	for field, value := range c.Desired.Properties {
		if !model.HoldsSecret(value) {
			continue
		}
		text, err := plan.SecretText(value, resolve)
		if err != nil {
			return nil, err
		}
		digest, err := s.Recorder.Digest(text, uid+":"+field)
		if err != nil {
			return nil, err
		}
		if digests == nil {
			digests = map[string]string{}
		}
		digests[field] = digest
	}
	return digests, nil
}

// salt makes salted digests of references; nil without a recorder.
func (s Secrets) salt() func(text, scope string) (string, error) {
	if s.Recorder == nil {
		return nil
	}
	return s.Recorder.Digest
}

// tells reports whether a secret of the run stands in v.
func (s Secrets) tells(v any) bool {
	holds := s.Holds
	if holds == nil && s.Scrub != nil {
		holds = func(text string) bool { return s.Scrub(text) != text }
	}
	if holds == nil {
		return false
	}
	found := false
	model.Walk(v, func(v model.Value) bool {
		switch v := v.(type) {
		case string:
			found = found || holds(v)
		case map[string]any:
			for key := range v {
				found = found || holds(key)
			}
		}
		return !found
	})
	return found
}

// opened are the outputs of a row in plaintext. What does not open is an error, and left
// out of what is returned beside it.
func (s Secrets) opened(row *state.Row) (map[string]any, error) {
	outputs := outputsOf(row)
	var failure error
	copied := false
	for name, v := range outputs {
		if !model.IsSealed(v) {
			continue
		}
		if !copied {
			outputs, copied = model.Clone(outputs).(map[string]any), true
		}
		plain, err := s.unseal(v, row.RowUID, name)
		if err != nil {
			delete(outputs, name)
			failure = err
			continue
		}
		outputs[name] = plain
	}
	return outputs, failure
}

func (s Secrets) unseal(v any, owner, field string) (any, error) {
	if s.Unsealer == nil {
		return nil, model.Errorf(model.SecretsError, model.ClassUser,
			"the value '%s' of %s is sealed, and there is no install key to open it with; provide the key that wrote this state", field, owner)
	}
	plain, err := s.Unsealer.Unseal(v, owner, field)
	if err == nil {
		s.told.tell(plain)
	}
	return plain, err
}

// scrubbed is an error without the secrets of the run (EX-41): itself, where there is nothing
// to take out. It stays what it was for errors.Is, and for errors.As of the engine's own type.
func (s Secrets) scrubbed(err error) error {
	if err == nil {
		return nil
	}
	_, clean := s.clean(err)
	return clean
}

// clean also reports whether it had to change anything.
func (s Secrets) clean(err error) (changed bool, clean error) {
	if typed, is := err.(*model.Error); is { //nolint:errorlint // what wraps one is more than it
		return s.cleanError(typed)
	}
	for _, inner := range unwrapped(err) {
		changes, _ := s.clean(inner)
		changed = changed || changes
	}
	text := s.scrub(err.Error())
	if !changed && text == err.Error() {
		return false, err
	}
	q := quiet{text: text, err: err}
	if typed, ok := errors.AsType[*model.Error](err); ok {
		_, q.typed = s.cleanError(typed)
	}
	return true, q
}

// unwrapped are the errors that one wraps or joins.
func unwrapped(err error) []error {
	switch err := err.(type) { //nolint:errorlint // one step of the chain
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

func (s Secrets) cleanError(e *model.Error) (changed bool, clean *model.Error) {
	out := *e
	out.Message, out.Hint, out.Note = s.scrub(e.Message), s.scrub(e.Hint), s.scrub(e.Note)
	changed = out.Message != e.Message || out.Hint != e.Hint || out.Note != e.Note
	if e.Cause != nil {
		changes, cause := s.clean(e.Cause)
		out.Cause, changed = cause, changed || changes
	}
	out.AlsoFailed = nil
	for _, also := range e.AlsoFailed {
		changes, other := s.cleanError(also)
		out.AlsoFailed, changed = append(out.AlsoFailed, other), changed || changes
	}
	if !changed {
		return false, e
	}
	return true, &out
}

// quiet is an error of others with another text.
type quiet struct {
	text  string
	err   error
	typed *model.Error // the engine's own in it, scrubbed; nil = none
}

func (q quiet) Error() string { return q.text }

func (q quiet) Is(target error) bool { return errors.Is(q.err, target) }

func (q quiet) As(target any) bool {
	typed, ok := target.(**model.Error)
	if ok && q.typed != nil {
		*typed = q.typed
	}
	return ok && q.typed != nil
}

// scrubbedDetail is the detail of an event without the secrets of the run.
func (s Secrets) scrubbedDetail(detail map[string]any) map[string]any {
	if detail == nil {
		return nil
	}
	out := make(map[string]any, len(detail))
	for key, v := range detail {
		if text, ok := v.(string); ok {
			v = s.scrub(text)
		}
		out[key] = v
	}
	return out
}
