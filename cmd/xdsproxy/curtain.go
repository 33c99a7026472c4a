package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// curtain is standard error. While the screen is drawn over it, lines go to the
// screen instead.
type curtain struct {
	w io.Writer

	mu    sync.Mutex
	drawn func(line string) // nil: nothing is drawn
}

func (c *curtain) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drawn == nil {
		return c.w.Write(b)
	}
	for line := range bytes.Lines(b) {
		if s := strings.TrimRight(string(line), "\n"); s != "" {
			c.drawn(s)
		}
	}
	return len(b), nil
}

// draw sends lines elsewhere, or back to standard error if to is nil.
func (c *curtain) draw(to func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn = to
}
