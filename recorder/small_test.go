package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
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

// What stands where a frame must be, and is none, is damage that says so.
func TestInspectOfWhatIsNoFrame(t *testing.T) {
	file, _, end := many(t, 9)
	for name, tail := range map[string][]byte{
		"nothing":         make([]byte, 16),
		"a frame of zstd": {0x28, 0xb5, 0x2f, 0xfd, 4, 0, 0, 0, 1, 2, 3, 4},
		"another header":  (&format.FileHeader{}).Append(nil),
	} {
		r := brieflyOf(t, &counted{b: append(file[:end:end], tail...)})
		facts, err := r.Inspect()
		_ = r.Close()
		d, is := errors.AsType[*DamageError](err)
		if !is || d.Offset != int64(end) || d.Reason != "there is no frame where one must be" || facts.Entries == 0 || !facts.Damaged {
			t.Errorf("%s: %v, %+v", name, err, facts)
		}
	}
	long := format.AppendSkippable(nil, format.MagicBlock, make([]byte, format.MaxSkippable-format.CRCSize+1))
	r := brieflyOf(t, &counted{b: append(file[:end:end], long...)})
	defer r.Close()
	if _, err := r.Inspect(); err == nil || !strings.Contains(err.Error(), "a header cannot be 65537 bytes long") {
		t.Errorf("a header that is too long: %v", err)
	}
}

// Another segment is due once this one is as large or as old as may be, and has
// entries of its own; after one that could not be begun, only after a while.
func TestWhenASegmentIsDue(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		change func(w *writer)
		due    bool
	}{
		"as large as may be": {func(w *writer) { w.log.o.MaxSize = w.file.End }, true},
		"one byte less":      {func(w *writer) { w.log.o.MaxSize = w.file.End + 1 }, false},
		"as old as may be":   {func(w *writer) { w.log.o.MaxAge = time.Minute }, true},
		"not yet":            {func(w *writer) { w.log.o.MaxAge = time.Minute + 1 }, false},
		"without a bound":    {func(w *writer) {}, false},
		"nothing of its own": {func(w *writer) { w.log.o.MaxSize, w.segment.carried = 1, 1 }, false},
		"in a block":         {func(w *writer) { w.log.o.MaxSize = 1; put(t, w.file.Writer, message(1, "x")) }, false},
		"without segments":   {func(w *writer) { w.log.o.MaxSize, w.segment = 1, nil }, false},
		"while it fails":     {func(w *writer) { w.log.o.MaxSize, w.failing = 1, true }, false},
		"while it is lost":   {func(w *writer) { w.log.o.MaxSize, w.adrift = 1, true }, false},
		"again, too early":   {func(w *writer) { w.log.o.MaxSize, w.segment.again = 1, now.Add(1) }, false},
		"again, at its time": {func(w *writer) { w.log.o.MaxSize, w.segment.again = 1, now }, true},
	} {
		b, err := blocks.New(new(memory), &format.FileHeader{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		put(t, b, message(1, "x"))
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		w := &writer{
			log: &Log{o: Options{Now: func() time.Time { return now }}}, file: &logFile{Writer: b},
			segment: &segment{begun: now.Add(-time.Minute)},
		}
		if c.change(w); w.due() != c.due {
			t.Errorf("%s: it is due: %v", name, !c.due)
		}
		b.Free()
	}
}
