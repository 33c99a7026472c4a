package recorder

import (
	"context"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// aheadBatches is how many batches of entries are in hand: what is being
	// given, what waits, and what is being read.
	aheadBatches = 3
	// batchEntries and batchBytes end a batch. An entry that is more than
	// batchBytes by itself ends one, and nothing is read until its user asks for
	// the next: large ones do not pile up.
	batchEntries = 256
	batchBytes   = 1 << 20
)

// ahead is what was read before it was asked for. While its goroutine runs the
// Reader belongs to that; halt takes it back.
type ahead struct {
	full, free chan *batch
	now        *batch
	facts      Facts // up to now
	stop       context.CancelFunc
	stopped    chan struct{}
}

// batch is some entries, and the error after them.
type batch struct {
	entries []session.Entry
	given   int
	pieces  session.Chunks // of all of them
	facts   Facts
	large   bool
	err     error
}

// Ahead lets a goroutine read what comes next while the caller has to do with
// what came: the same entries, in the same order, with the same errors after
// them. It has an effect where a file is read that is not followed. The goroutine ends
// at the end of the file, at an error and with Close.
func (r *Reader) Ahead() { r.early = true }

// taken takes an entry from what was read ahead, and begins to read ahead where
// nothing was.
func (r *Reader) taken(ctx context.Context, e *session.Entry) (bool, error) {
	if r.ahead == nil && !r.begins() {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a := r.ahead
	for a.now == nil || a.now.given == len(a.now.entries) {
		if p := a.now; p != nil {
			a.now = nil
			if p.err != nil {
				r.ahead, r.early = nil, false
				return false, p.err
			}
			p.clear()
			a.free <- p
		}
		select {
		case p, more := <-a.full:
			if !more { // it was halted
				r.ahead = nil
				return false, nil
			}
			a.now, a.facts = p, p.facts
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	p := a.now
	*e = p.entries[p.given]
	p.entries[p.given] = session.Entry{} // who has it decides how long it stays
	p.given++
	return true, nil
}

// begins starts the goroutine, if this is something to read ahead in.
func (r *Reader) begins() bool {
	src, is := r.src.(*fileSource)
	if !is || r.follow || r.err != nil {
		return false
	}
	switch src.file.(type) {
	case osFile, farFile:
	default:
		return false
	}
	a := &ahead{full: make(chan *batch, aheadBatches), free: make(chan *batch, aheadBatches), facts: r.facts, stopped: make(chan struct{})}
	for range aheadBatches {
		a.free <- new(batch)
	}
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	r.ahead = a
	go func() {
		defer close(a.stopped)
		defer close(a.full)
		for a.batch(ctx, r) {
		}
	}()
	return true
}

// batch reads a batch. It returns false at the end.
func (a *ahead) batch(ctx context.Context, r *Reader) bool {
	var p *batch
	select {
	case p = <-a.free:
	case <-ctx.Done():
		return false
	}
	p.read(ctx, r)
	if ctx.Err() != nil {
		p.err = nil // that it was halted is no news
	}
	a.full <- p
	if p.err != nil || ctx.Err() != nil {
		return false
	}
	if !p.large {
		return true
	}
	var others []*batch
	for {
		select {
		case back := <-a.free:
			others = append(others, back)
			if back != p {
				continue
			}
		case <-ctx.Done():
		}
		for _, o := range others {
			a.free <- o
		}
		return true
	}
}

func (p *batch) read(ctx context.Context, r *Reader) {
	p.entries, p.given, p.large, p.err = p.entries[:0], 0, false, nil
	r.dict.Scratch = p.pieces[:0]
	for size := int64(0); len(p.entries) < batchEntries && size < batchBytes && p.err == nil; {
		p.entries = append(p.entries, session.Entry{})
		e := &p.entries[len(p.entries)-1]
		before := len(r.dict.Scratch)
		r.dict.Own = 0
		if p.err = r.next(ctx, e); p.err != nil {
			p.entries = p.entries[:len(p.entries)-1]
			break
		}
		own := r.dict.Own + int64(24*max(len(r.dict.Scratch)-before, 0))
		if m := e.Message; m != nil && !r.dict.Pieces {
			own = m.Data.Len()
		}
		size += own
		p.large = own > batchBytes
	}
	p.pieces, r.dict.Scratch, p.facts = r.dict.Scratch, nil, r.facts
}

// clear lets go of what the entries had.
func (p *batch) clear() {
	clear(p.pieces)
	if p.large {
		p.pieces = nil
	}
}

// halt ends the goroutine. What it has read is still to be given.
func (r *Reader) halt() {
	if r.ahead != nil {
		r.ahead.stop()
		<-r.ahead.stopped
	}
}

// drop is halt, and forgets what was read.
func (r *Reader) drop() {
	r.halt()
	r.ahead = nil
}
