package secrets

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// scrubber takes secrets out of text. Its replacer is made again when there are more.
type scrubber struct {
	mu       sync.Mutex
	values   []Text
	replacer *strings.Replacer
}

func (s *Session) remember(value Text) {
	s.scrubber.mu.Lock()
	defer s.scrubber.mu.Unlock()
	s.scrubber.values = append(s.scrubber.values, value)
	s.scrubber.replacer = nil
}

// Scrub takes every secret that the run resolved out of a text that is to be shown, also
// where it is quoted as Go and JSON do (EX-41). Text of others, such as the error of a
// cloud, may repeat what it was called with.
func (s *Session) Scrub(text string) string {
	s.scrubber.mu.Lock()
	if s.scrubber.replacer == nil {
		s.scrubber.replacer = replacerOf(s.scrubber.values)
	}
	replacer := s.scrubber.replacer
	s.scrubber.mu.Unlock()
	return replacer.Replace(text)
}

// replacerOf prefers, where several begin at one place, what was scrubbed already and then
// the longest.
func replacerOf(values []Text) *strings.Replacer {
	var forms []string
	for _, value := range values {
		plain := value.Reveal()
		if plain == "" {
			continue
		}
		forms = append(forms, plain, unquoted(strconv.Quote(plain)))
		if quoted, err := json.Marshal(plain); err == nil {
			forms = append(forms, unquoted(string(quoted)))
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	pairs := []string{Redacted, Redacted}
	for _, form := range forms {
		pairs = append(pairs, form, Redacted)
	}
	return strings.NewReplacer(pairs...)
}

func unquoted(text string) string { return text[1 : len(text)-1] }
