package input

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// MaxSpool bounds what a pipe may bring into a temporary file.
const MaxSpool = 4 << 30

// Spool writes what comes on standard input to a temporary file of at most so
// many bytes, so that one can go to and fro in it. It returns when the pipe has
// ended; remove takes the file away again.
func (o *Opener) Spool(most int64) (path string, remove func(), err error) {
	if console.IsTerminal(o.Stdin) {
		return "", nil, terminalInput()
	}
	in := bufio.NewReader(o.Heedful(o.Stdin))
	if _, err := in.Peek(2); err != nil && !errors.Is(err, io.EOF) {
		return "", nil, Unreadable(console.Failed("standard input: %w", err))
	}
	ending := ".xdsp"
	if head, _ := in.Peek(in.Buffered()); looksLikeScript(head) {
		ending = ScriptSuffix
	}
	f, err := os.CreateTemp("", "xdsproxy-*"+ending) // mode 0600
	if err != nil {
		return "", nil, console.Failed("cannot keep standard input: %w", err)
	}
	remove = func() { _ = os.Remove(f.Name()) }
	n, err := io.Copy(f, io.LimitReader(in, most+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		err = console.Failed("cannot keep standard input: %w", err)
	case n > most:
		err = console.Failed("standard input is longer than %s, and the screen keeps no more than that", render.Size(most)).
			Hint("write it to a file, and open that")
	default:
		return f.Name(), remove, nil
	}
	remove()
	return "", nil, err
}

func terminalInput() error {
	return console.Misused("standard input is a terminal, not a recording").
		Hint("name a recording, or %s for the newest", Last)
}
