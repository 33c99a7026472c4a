package console

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// ErrClosedPipe says that nobody reads our output any more. That is the reader's
// right, and success.
var ErrClosedPipe = errors.New("the reader of our output went away")

// Pipe tells a write to a closed pipe from every other error.
type Pipe struct{ W io.Writer }

func (p Pipe) Write(b []byte) (int, error) {
	n, err := p.W.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		err = ErrClosedPipe
	}
	return n, err
}

// Stderr is standard error. While the screen is drawn over it, lines go to the
// screen instead.
type Stderr struct {
	W io.Writer

	mu    sync.Mutex
	drawn func(line string) // nil: nothing is drawn
}

func (c *Stderr) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drawn == nil {
		return c.W.Write(b)
	}
	for line := range bytes.Lines(b) {
		if s := strings.TrimRight(string(line), "\n"); s != "" {
			c.drawn(s)
		}
	}
	return len(b), nil
}

// Draw sends lines elsewhere, or back to standard error if to is nil.
func (c *Stderr) Draw(to func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn = to
}

// paged is a terminal behind a pager.
type paged struct {
	io.Writer
	terminal io.Writer
}

// descriptor returns the file behind a stream, if there is one.
func descriptor(stream any) (fd int, ok bool) {
	if behind, is := stream.(paged); is {
		stream = behind.terminal
	}
	switch wrapped := stream.(type) {
	case Pipe:
		stream = wrapped.W
	case *Stderr:
		stream = wrapped.W
	}
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), true
}

// IsTerminal says whether there is a terminal behind a stream.
func IsTerminal(stream any) bool {
	fd, ok := descriptor(stream)
	return ok && term.IsTerminal(fd)
}

func columns(stream any) int {
	fd, ok := descriptor(stream)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return w
}
