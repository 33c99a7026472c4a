package console

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Progress tells a person on one line of a terminal how far a long work has
// come. It says nothing in the first second, and nothing to a script.
type Progress struct {
	w      io.Writer // nil: nobody looks
	verb   string    // what is done
	far    func() (read int64, entries uint64)
	total  int64 // bytes; 0: unknown
	begun  time.Time
	next   time.Time
	calls  int
	spoken bool
}

// Progress is that of a work on the file at path, which far knows the extent of.
func (c *Console) Progress(verb, path string, far func() (read int64, entries uint64)) *Progress {
	p := &Progress{verb: verb, far: far, begun: time.Now()}
	p.next = p.begun.Add(time.Second)
	if c.Quiet || !IsTerminal(c.Stderr) {
		return p
	}
	p.w = c.Stderr
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		p.total = info.Size()
	}
	return p
}

// Of says how many bytes there are to read, where that is not the size of one file.
func (p *Progress) Of(total int64) *Progress {
	p.total = total
	return p
}

// Advance is called once for each entry; the clock is asked now and then.
func (p *Progress) Advance() {
	if p.calls++; p.calls%256 == 0 {
		p.Look()
	}
}

// Look is called now and then; it asks the clock.
func (p *Progress) Look() {
	if p.w == nil {
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
		if left := float64(p.total-read) / rate; rate > 0 && left >= 1 {
			line += ", " + render.Duration(time.Duration(left*float64(time.Second)).Round(time.Second)) + " left"
		}
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %s, %s", p.verb, done, line)
}

// End wipes the line away.
func (p *Progress) End() {
	if p.spoken {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
