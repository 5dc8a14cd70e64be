// Package scrub owns how a value that must not be told is found in the text of others, such
// as the error of a cloud (EX-41): whole, quoted, with its control characters replaced, or
// cut short, as a message cuts what it quotes.
//
// A value that has fewer than 12 bytes is found where it stands whole, in each of the forms
// that Forms lists. Of a longer one the start is enough, and after an ellipsis the end: the
// text and the value are compared in three views (fold.go), as they are written, without
// their escapes, and without what messages replace. Of a path, every longer part counts.
//
// Looking through a text takes time linear in it, whatever the values are: where values are
// made to be compared at length, and again at the next byte, the rest of the text goes.
//
// It must never know where values and texts come from.
package scrub
