package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

// Error says where a script cannot be read, and why.
type Error struct {
	File string
	// Line and Col count from 1, Col in characters.
	Line, Col int
	Message   string
	Hint      string // what may help, or ""
}

// Error is the place and the reason in one line, without the hint.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message)
}

// fail makes the error of a place in the line. Parse adds the file.
func (l *line) fail(off int, format string, args ...any) *Error {
	return &Error{
		Line: l.no, Col: utf8.RuneCountInString(l.text[:min(off, len(l.text))]) + 1,
		Message: fmt.Sprintf(format, args...),
	}
}

// hint adds what may help.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// meant makes a hint of the nearest word, if there is one.
func (e *Error) meant(s string, words []string) *Error {
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	if best := nearest.Name(s, lower); best != "" {
		return e.hint("did you mean %s?", words[slices.Index(lower, best)])
	}
	return e
}
