package script

import (
	"fmt"
	"strings"
	"unicode/utf8"
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

// nearest returns the word that is most like s, or "" if none is.
func nearest(s string, words []string) string {
	best, at := "", len(s)/2+1
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < at {
			best, at = w, d
		}
	}
	return best
}

// distance counts the letters to insert, remove, change or swap. It looks at the
// beginning of long words only.
func distance(a, b string) int {
	a, b = a[:min(len(a), 40)], b[:min(len(b), 40)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// meant makes a hint of the nearest word, if there is one.
func (e *Error) meant(s string, words []string) *Error {
	if w := nearest(s, words); w != "" {
		return e.hint("did you mean %s?", w)
	}
	return e
}
