package filter

import (
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// Row is one entry with all that can be asked of it. Entry and Change must be
// there; what a filter does not need, by Needs, may be left out. A Row can be
// used again for the next entry, by one goroutine at a time.
type Row struct {
	Entry  *session.Entry
	Change *check.Change
	// Node is who the client of the entry said it was, or nil.
	Node *decode.Node
	// Findings are what rules proved with this entry.
	Findings []Finding
	// Marked says that a person marked the entry.
	Marked bool
	// Waited is how long the answer took: of an ACK or a NACK since the
	// response, of a response, where that is known, until its answer. 0: it is
	// not known.
	Waited time.Duration
	// Count is Change.Count where the Change has no Message to tell it; nil if
	// it has.
	Count func() (n int, is bool)
	// Summary is the line that is shown of the entry, without its numbers and
	// its time, and Body its message in full.
	Summary, Body func() string

	summary, body text
}

// Finding is what a rule proved.
type Finding struct {
	Rule     string // its id
	Severity string // error, warning or info
}

// text is what one of the functions gave.
type text struct {
	text string
	made bool
}

func (t *text) of(f func() string) string {
	if !t.made && f != nil {
		t.text, t.made = f(), true
	}
	return t.text
}
