package model

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds how many things of a kind one text names.
const maxListed = 20

// Listed joins texts for an error: the first of them in their order, and how many there
// are beyond those. An error with thousands of ids helps nobody and fills logs.
func Listed(texts []string, separator string) string {
	if more := len(texts) - maxListed; more > 0 {
		texts = append(slices.Clone(texts[:maxListed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, separator)
}
