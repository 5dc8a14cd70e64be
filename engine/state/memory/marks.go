package memory

import (
	"context"

	"github.com/atlantide-org/atlantide-operator/engine/state"
)

var _ state.Marks = (*Store)(nil)

// mark is what was found out, and at which serial.
type mark struct {
	text   string
	serial int64
}

// Mark implements state.Marks.
func (s *Store) Mark(_ context.Context, name string, serial int64, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.partition(name); p.serial == serial {
		p.mark = mark{text, serial}
	}
	return nil
}

// Marked implements state.Marks.
func (s *Store) Marked(_ context.Context, name, text string) (serial int64, marked bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partition(name)
	if text == "" || p.mark != (mark{text, p.serial}) {
		return 0, false, nil
	}
	return p.serial, true, nil
}
