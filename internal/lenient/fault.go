package lenient

import (
	"fmt"
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// Kind is what a fault is about.
type Kind int

const (
	Invalid      Kind = iota
	UnknownType       // of an Any
	UnknownField      // left out
	UnknownEnum       // a word, left out
	TwiceLast         // the last one counts
	TwiceBoth         // both count
	Documents         // the first one counts
)

// Fault is why something is not what it is read as, or is not read as it is
// written.
type Fault struct {
	// Line and Col count from 1; 0 if the place is not known.
	Line, Col int
	Kind      Kind
	Message   string
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

// LeftOut says that what the note is about does not count.
func (f *Fault) LeftOut() bool { return f.Kind == UnknownField || f.Kind == UnknownEnum }

func faultf(format string, args ...any) *Fault { return &Fault{Message: fmt.Sprintf(format, args...)} }

func (f *Fault) is(k Kind) *Fault {
	f.Kind = k
	return f
}

func (f *Fault) at(line, col int) *Fault {
	f.Line, f.Col = line, col
	return f
}

// Quoted is a name of outside as faults have it.
func Quoted(s string) string { return strconv.Quote(Clipped(s)) }

// Clipped bounds a name, so that what has it in it stays on one line.
func Clipped(s string) string { return clip.Text(s, 100) }
