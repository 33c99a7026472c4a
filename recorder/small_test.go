package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is written where nothing of a lost file is repeated says why.
func TestUnrepeated(t *testing.T) {
	for _, c := range []struct {
		err  error
		text string
	}{
		{errTooMuch, "the file before this one was overwritten, and nothing of it is repeated here: it is too large"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "the file before this one was overwritten, and nothing of it is repeated here: it is too large"},
		{errShrunk, "the file before this one was overwritten, and nothing of it is repeated here"},
	} {
		e := unrepeated("was overwritten", c.err)
		if e.Kind != session.KindNote || e.Side != session.Proxy || e.Note.Code != session.NoteUnrepeated || e.Note.Text != c.text || !strings.HasPrefix(e.Note.Hint, "streams that were open before") {
			t.Errorf("%v: %+v", c.err, e.Note)
		}
	}
}

// sized is a source of segments of which the first that is there has a number.
type sized struct {
	first uint64
	err   error
}

func (s sized) find(uint64) (*Reader, error) {
	if s.err != nil {
		return nil, s.err
	}
	r := newFileReader("s", &counted{}, io.NopCloser(nil))
	r.header.Segment = s.first
	return r, nil
}

// Facts of segments that were deleted are forgotten, but for those of the newest.
func TestPartsAreForgotten(t *testing.T) {
	for _, c := range []struct {
		source sized
		left   string
	}{
		{sized{first: 1}, "[1 2 3 4]"},
		{sized{first: 3}, "[3 4]"},
		{sized{first: 4}, "[4]"},
		{sized{first: 9}, "[4]"},
		{sized{err: fs.ErrNotExist}, "[1 2 3 4]"},
	} {
		l := &Log{}
		for n := range uint64(4) {
			l.parts = append(l.parts, partFacts{header: format.FileHeader{Segment: n + 1}})
		}
		l.dropParts(c.source)
		var left []uint64
		for i := range l.parts {
			left = append(left, l.parts[i].header.Segment)
		}
		if got := fmt.Sprint(left); got != c.left {
			t.Errorf("the oldest is %d, %v: %s are left, not %s", c.source.first, c.source.err, got, c.left)
		}
	}
}

// A part whose name says another number than it does itself is refused; one without
// a number only among others.
func TestPartsSayTheirNumbers(t *testing.T) {
	numbered := func(n uint64) []byte { return (&format.FileHeader{Segment: n}).Append(nil) }
	for name, c := range map[string]struct {
		said, is uint64
		parts    int
		wrong    bool
	}{
		"the same":          {3, 3, 2, false},
		"another":           {3, 4, 2, true},
		"another, alone":    {3, 4, 1, true},
		"none, alone":       {3, 0, 1, false},
		"none among others": {3, 0, 2, true},
		"nothing is said":   {0, 4, 2, false},
	} {
		f := &farFamily{parts: make([]Part, c.parts)}
		p := part("p.xdsp", c.said, numbered(c.is))
		r, err := f.open(&p)
		var format *FormatError
		if (err != nil) != c.wrong || err != nil && (!errors.As(err, &format) || format.Reason != fmt.Sprintf("it says that it is segment %d, and its name says %d", c.is, c.said)) {
			t.Errorf("%s: %v", name, err)
		}
		if r != nil {
			_ = r.Close()
		}
	}
}
