package secrets

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
)

// fallbackSalt is the salt of runs without any key material, and of rows that release 0.3
// wrote without one (SC-13). Whoever reads such a digest can guess at the secret.
const fallbackSalt = "atlantide/secret/v1"

// importedPrefix begins a digest that came with state of release 0.3. The next write of its
// row replaces it.
const importedPrefix = "imported:"

// digest is the one of a secret within a scope (SC-13).
func digest(salt []byte, scope, text string) string {
	h := sha256.New()
	_, _ = h.Write(salt) // a hash never fails
	_, _ = h.Write([]byte(scope))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// matches compares a recorded digest with those of text under every salt and scope.
func matches(recorded, text string, salts [][]byte, scopes []string) bool {
	recorded, imported := strings.CutPrefix(recorded, importedPrefix)
	if imported {
		salts = append(slices.Clip(salts), []byte(fallbackSalt))
	}
	for _, salt := range salts {
		for _, scope := range scopes {
			if subtle.ConstantTimeCompare([]byte(digest(salt, scope, text)), []byte(recorded)) == 1 {
				return true
			}
		}
	}
	return false
}

func (r *Keyring) salts() [][]byte {
	salts := make([][]byte, len(r.keys))
	for i, k := range r.keys {
		salts[i] = k.salt()
	}
	return salts
}
