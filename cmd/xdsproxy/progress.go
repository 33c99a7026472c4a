package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// progress tells a person on one line of a terminal how far a long work has
// come. It says nothing in the first second, and nothing to a script.
type progress struct {
	w      io.Writer // nil: nobody looks
	verb   string    // what is done
	far    func() (read int64, entries uint64)
	total  int64 // bytes; 0: unknown
	begun  time.Time
	next   time.Time
	calls  int
	spoken bool
}

// progress is that of a reading of src.
func (a *app) progress(src *source) *progress {
	return a.progressOf("reading", src.name, func() (int64, uint64) {
		f := src.Facts()
		return f.Bytes, f.Entries
	})
}

// progressOf is that of a work on the file at path, which far knows the extent
// of.
func (a *app) progressOf(verb, path string, far func() (read int64, entries uint64)) *progress {
	p := &progress{verb: verb, far: far, begun: time.Now()}
	p.next = p.begun.Add(time.Second)
	if bool(a.config.quiet) || !isTerminal(a.stderr) {
		return p
	}
	p.w = a.stderr
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		p.total = info.Size()
	}
	return p
}

// advance is called once for each entry; the clock is asked now and then.
func (p *progress) advance() {
	if p.calls++; p.w == nil || p.calls%256 != 0 {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.spoken = now.Add(200*time.Millisecond), true
	read, entries := p.far()
	done := render.Size(read)
	rate := float64(read) / now.Sub(p.begun).Seconds()
	line := fmt.Sprintf("%s, %s/s", render.Count(entries, "entry", "entries"), render.Size(int64(rate)))
	if read <= p.total { // of several segments only one was measured
		done += " of " + render.Size(p.total)
		if left := float64(p.total-read) / rate; rate > 0 && left >= 0 {
			line += ", " + render.Duration(time.Duration(left*float64(time.Second)).Round(time.Second)) + " left"
		}
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %s, %s", p.verb, done, line)
}

// end wipes the line away.
func (p *progress) end() {
	if p.spoken {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
