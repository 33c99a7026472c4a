package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
)

// walk is a tool that prints lines and has stopped between two of them, to go on
// when the next page is asked for.
type walk struct {
	asked, recording mark

	notes   bytes.Buffer
	err     error // with which it ended
	cancel  context.CancelFunc
	pull    func() ([]byte, bool)
	stop    func()
	ended   bool
	pending [][]byte // lines that were printed, and not given in full
	first   uint64   // the number of the first of these
}

var errEnough = errors.New("the page is full")

// begin begins a walk. What it reads outlives the call, which has an end of its own.
func (c *call) begin() *walk {
	w := &walk{asked: c.asked, recording: c.recording}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	w.cancel = cancel
	print, name, args := c.Prints[c.tool.Name], c.name, c.args
	w.pull, w.stop = iter.Pull(func(yield func([]byte) bool) {
		defer cancel()
		w.err = print(ctx, name, args, lineWriter(func(line []byte) error {
			if !yield(line) {
				return errEnough
			}
			return nil
		}), &w.notes)
	})
	return w
}

// lineWriter takes a line in each write.
type lineWriter func(line []byte) error

func (f lineWriter) Write(line []byte) (int, error) {
	if err := f(bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// next reads one more line.
func (w *walk) next() bool {
	if w.ended {
		return false
	}
	line, more := w.pull()
	if w.ended = !more; more {
		w.pending = append(w.pending, line)
	}
	return more
}

// lines answers with a page of the lines that a tool prints.
func (c *call) lines(from *cursor) (json.RawMessage, error) {
	at := cursor{}
	w := (*walk)(nil)
	if from != nil {
		at = *from
		w = c.walks.take(&at)
	}
	if w == nil {
		w = c.begin()
	}
	// Who does not wait for the page any more ends the walk; the end of the call does not.
	release := context.AfterFunc(c.ctx, w.cancel)
	keep := false
	defer func() {
		release()
		if !keep {
			w.stop()
		}
	}()
	for w.first < at.line && w.next() { // these were given, and the walk that knew it is over
		w.pending, w.first = w.pending[:0], w.first+1
	}
	doc, starts := c.gather(w, at.position)
	if w.ended {
		c.notes.Write(w.notes.Bytes())
		if err := c.beside(w.err, len(starts) > 0); err != nil {
			return nil, err
		}
	}
	begin := position{}
	if len(starts) > 0 {
		begin = position{starts[0] + at.at, at.in}
	} else if from != nil {
		return nil, refused("the cursor goes on behind the end")
	}
	p, err := makePage(doc, begin, c.space())
	if err != nil {
		return nil, refused(errNoCursor.Error())
	}
	if !p.more {
		return c.frame(p, c.place(p, from), begin, nil), nil
	}
	i, is := slices.BinarySearch(starts, p.next.at)
	if !is {
		i-- // within the line before
	}
	if !release() {
		return nil, c.ctx.Err()
	}
	next := &cursor{asked: c.asked, recording: c.recording, line: w.first + uint64(i), position: position{p.next.at - starts[i], p.next.in}}
	w.pending, w.first = w.pending[i:], next.line
	keep = true
	c.walks.put(w)
	return c.frame(p, c.place(p, from), begin, next), nil
}

// gather reads as many lines as a page may have room for, the first from a
// position on, into one document. starts is where each begins in it.
func (c *call) gather(w *walk, from position) (doc []byte, starts []int) {
	doc = []byte(`{"entries":[`)
	for i, weighs := 0, 0; weighs <= room && (i < len(w.pending) || w.next()); i++ {
		line, skip := w.pending[i], 0
		if i > 0 {
			doc = append(doc, ',')
		} else {
			skip = min(from.at+from.in, len(line))
		}
		weighs += weigh(line[skip:])
		starts = append(starts, len(doc))
		doc = append(doc, line...)
	}
	return append(doc, "]}"...), starts
}

// place is where a page of lines begins, counted from the first line of all.
func (c *call) place(p *part, from *cursor) []level {
	if from == nil {
		return nil
	}
	p.levels[1].index += int(from.line)
	return p.levels
}

// walks are those that have stopped, the oldest first.
type walks []*walk

// maxWalks bounds them: each holds an account of what it has read.
const maxWalks = 2

// take takes the walk out that stands where a cursor goes on; nil if there is none.
func (all *walks) take(at *cursor) *walk {
	for i, w := range *all {
		if w.asked == at.asked && w.recording == at.recording && w.first == at.line {
			*all = slices.Delete(*all, i, i+1)
			return w
		}
	}
	return nil
}

func (all *walks) put(w *walk) {
	*all = append(*all, w)
	for len(*all) > maxWalks {
		(*all)[0].stop()
		*all = slices.Delete(*all, 0, 1)
	}
}

// drop ends them.
func (all *walks) drop() {
	for _, w := range *all {
		w.stop()
	}
	*all = nil
}
