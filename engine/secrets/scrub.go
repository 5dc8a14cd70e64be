package secrets

// Scrub takes every secret that the run resolved out of a text that is to be shown, also
// where it is quoted, or cut short (EX-41). Text of others, such as the error of a cloud, may
// repeat what it was called with.
func (s *Session) Scrub(text string) string { return s.told.Scrub(text) }

// Holds reports whether a secret that the run resolved stands whole in a text: whether what
// holds the text has to be sealed.
func (s *Session) Holds(text string) bool { return s.told.Holds(text) }
