package script

import (
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxEntries = 100_000   // of a script
	maxBytes   = 256 << 20 // of all its messages, about
	maxMessage = 64 << 20  // of one message that is padded
	maxItems   = 1 << 20   // elements of a list
	maxRes     = 1 << 18   // resources of a response
)

// Script is a conversation that was checked and can be played. It does not
// change.
type Script struct {
	events []event
}

// event is an entry without its number; the bytes of its message are made when
// they are asked for.
type event struct {
	entry session.Entry
	body  func() []byte // Message
	line  int
}

// start is when every script begins.
var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Parse reads a script. The name is that of the file, for errors: each is an
// *Error with the place.
func Parse(name string, text []byte) (*Script, error) {
	s, err := parse(string(text))
	var at *Error
	if errors.As(err, &at) {
		at.File = name
	}
	return s, err
}

func parse(text string) (*Script, error) {
	var lines []*line
	if len(text) > maxBytes {
		return nil, (&line{no: 1}).fail(0, "the script has more than %d MiB", maxBytes>>20)
	}
	for no := 1; text != ""; no++ {
		var row string
		row, text, _ = strings.Cut(text, "\n")
		if no == 1 {
			row = strings.TrimPrefix(row, "\ufeff")
		}
		l, err := read(no, row)
		if err != nil {
			return nil, err
		}
		if l == nil {
			continue
		}
		if lines = append(lines, l); len(lines) > maxEntries {
			return nil, l.fail(0, "the script has more than %d lines", maxEntries)
		}
	}
	p := newPlayer()
	if err := p.assign(lines); err != nil {
		return nil, err
	}
	if err := p.play(lines); err != nil {
		return nil, err
	}
	return &Script{events: p.events}, nil
}

// Entries returns the entries of the session, in order. Their messages are made
// anew each time.
func (s *Script) Entries() iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		for i := range s.events {
			e := s.events[i].entry
			e.Seq = session.Seq(i + 1)
			if body := s.events[i].body; body != nil {
				data := body()
				e.Message = &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Line is the number of the line that an entry comes from, or 0 if there is no
// such entry.
func (s *Script) Line(seq session.Seq) int {
	if seq < 1 || uint64(seq) > uint64(len(s.events)) {
		return 0
	}
	return s.events[seq-1].line
}
