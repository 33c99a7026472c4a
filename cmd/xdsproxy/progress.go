package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// progress tells a person on one line of a terminal how far a long reading has
// come. It says nothing in the first second, and nothing to a script.
type progress struct {
	w      io.Writer // nil: nobody looks
	src    *source
	total  int64 // bytes; 0: unknown
	begun  time.Time
	next   time.Time
	calls  int
	spoken bool
}

func (a *app) progress(src *source) *progress {
	p := &progress{src: src, begun: time.Now()}
	p.next = p.begun.Add(time.Second)
	if bool(a.config.quiet) || !isTerminal(a.stderr) {
		return p
	}
	p.w = a.stderr
	if info, err := os.Stat(src.name); err == nil && info.Mode().IsRegular() {
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
	f := p.src.Facts()
	done := render.Size(f.Bytes)
	rate := float64(f.Bytes) / now.Sub(p.begun).Seconds()
	line := fmt.Sprintf("%s, %s/s", render.Count(f.Entries, "entry", "entries"), render.Size(int64(rate)))
	if f.Bytes <= p.total { // of several segments only one was measured
		done += " of " + render.Size(p.total)
		if left := float64(p.total-f.Bytes) / rate; rate > 0 && left >= 0 {
			line += ", " + render.Duration(time.Duration(left*float64(time.Second)).Round(time.Second)) + " left"
		}
	}
	fmt.Fprintf(p.w, "\r\x1b[Kreading %s, %s", done, line)
}

// end wipes the line away.
func (p *progress) end() {
	if p.spoken {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
