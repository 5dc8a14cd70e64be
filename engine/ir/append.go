package ir

// AppendCanonical is CanonicalJSON that appends to dst, for who makes many of them; of a
// text it allocates nothing beyond what dst lacks. dst is returned as it was beside an
// error.
func AppendCanonical(dst []byte, v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		e := encoder{out: dst}
		if err := e.text(s); err != nil {
			return dst, err
		}
		return e.out, nil
	}
	data, err := CanonicalJSON(v)
	if err != nil {
		return dst, err
	}
	return append(dst, data...), nil
}

// NodeHash is the Merkle hash of one node, given those of its dependencies (GR-4).
func NodeHash(n *Node, hashes map[string]string) (string, error) {
	var e encoder
	if err := e.merkle(n, hashes); err != nil {
		return "", inNode(n.ID, err)
	}
	return hexSHA256(e.out), nil
}
