package ir

// What a value weighs in memory, in units of the plainest one: with what reading it
// leaves behind, about 130 bytes.
const (
	textUnit      = 32 // bytes of a text that weigh as a value
	objectWeight  = 2  // of an object that is not empty, with room for eight members
	membersInside = 8
	memberWeight  = 2 // of each further member, beside its value
)

// weigh refuses JSON whose values would take too much memory or nest too deeply, before
// any of them is made. The syntax of data is known to be good; nothing is allocated.
func weigh(data []byte) error {
	var w scale
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case ' ', '\t', '\r', '\n', ',':
			continue
		case '"':
			end := stringEnd(data, i)
			w.add(1 + (end-i)/textUnit)
			i = end // a key gives the value back at its colon
		case ':':
			w.member()
		case '[', '{':
			w.add(1)
			w.open()
		case ']', '}':
			w.depth--
		default:
			i = scalarEnd(data, i)
			w.add(1)
		}
		if w.tooDeep {
			return malformed("the artifact is nested deeper than %d levels", maxArtifactDepth)
		}
		if w.total > maxArtifactValues {
			return malformed("the artifact holds more than %d values, long texts and large objects counted as several; split the config", maxArtifactValues)
		}
	}
	return nil
}

// scale adds up what values weigh.
type scale struct {
	total   int
	depth   int
	tooDeep bool
	members [maxArtifactDepth + 1]int // of the containers that are open
}

// add weighs a value that stands where the scale is.
func (s *scale) add(n int) {
	s.total += n
	s.tooDeep = s.tooDeep || s.depth > maxArtifactDepth
}

func (s *scale) open() {
	if s.tooDeep {
		return
	}
	s.members[s.depth] = 0
	s.depth++
}

// member follows a key.
func (s *scale) member() {
	s.total--
	n := &s.members[s.depth-1]
	switch *n++; {
	case *n == 1:
		s.total += objectWeight
	case *n > membersInside:
		s.total += memberWeight
	}
}

// stringEnd is the place of the quote that ends the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// scalarEnd is the place of the last byte of the number or word that begins at i.
func scalarEnd(data []byte, i int) int {
	for i+1 < len(data) {
		switch data[i+1] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
		i++
	}
	return i
}
