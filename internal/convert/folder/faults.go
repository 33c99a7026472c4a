package folder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is what cannot be read or encoded, and where it stands.
type Fault struct {
	File      string
	Line, Col int // from 1; 0 if the place is not known
	Message   string
}

func (f *Fault) String() string {
	switch {
	case f.Line == 0:
		return f.File + ": " + f.Message
	case f.Col == 0:
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Message)
}

// maxFaults is how many are told.
const maxFaults = 100

type faults struct {
	list []Fault
	more int
}

// err is an *Error, in the order of files and lines; nil if nothing is wrong.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Col-b.Col)
	})
	return &Error{f.list, f.more}
}

func (f *faults) add(file string, line, col int, format string, args ...any) {
	if len(f.list) >= maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, Fault{file, line, col, fmt.Sprintf(format, args...)})
}

// Error says why nothing was imported.
type Error struct {
	Faults []Fault
	More   int // that are not among them
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Faults))
	for i := range e.Faults {
		lines = append(lines, e.Faults[i].String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}
