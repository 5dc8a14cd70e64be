package apply

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// ApplyUnscrubbed is Apply of a run from which scrubbing was taken out; with its secrets'
// Scrub alone, where deaf is false.
func (r *Run) ApplyUnscrubbed(ctx context.Context, p *plan.Plan, deaf bool) (*Report, error) {
	x := r.begin(ctx, p)
	defer x.end()
	x.Secrets.Scrub, x.Secrets.Holds = nil, nil
	if deaf {
		x.Secrets.told = nil
	}
	err := x.Secrets.scrubbed(x.phases(ctx))
	x.scrubReport()
	return x.report, err
}

// Scrubbed is a text from which a run that was told the values takes them.
func Scrubbed(text string, values ...any) string {
	c := &confidences{}
	for _, v := range values {
		c.tell(v)
	}
	return c.scrub(text)
}

// ScrubbedError is an error without what a run was told.
func ScrubbedError(err error, values ...any) error {
	s := Secrets{}.listening()
	for _, v := range values {
		s.told.tell(v)
	}
	return s.scrubbed(err)
}
