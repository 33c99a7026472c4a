package filter

import "fmt"

// Error says what is wrong with a filter, and where.
type Error struct {
	Text    string // the filter
	Column  int    // of the word that is wrong, in characters from 1
	Message string
	Nearest string // what was probably meant, or ""
	Hint    string // what may help, or ""
}

func (e *Error) Error() string {
	s := fmt.Sprintf("filter %q: %s at column %d", e.Text, e.Message, e.Column)
	if e.Nearest != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return s
}

// wrong makes an Error of what is wrong with one word; parse adds where it is.
func wrong(format string, args ...any) *Error { return &Error{Message: fmt.Sprintf(format, args...)} }

func (e *Error) nearest(name string) *Error {
	e.Nearest = name
	return e
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}
