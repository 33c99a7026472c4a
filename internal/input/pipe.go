package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// openPipe opens what comes through a pipe: a recording, or else a conversation
// script.
func (o *Opener) openPipe(name string, from io.Reader) (*Source, error) {
	in := bufio.NewReader(o.Heedful(from))
	// What is there is looked at, but not waited for beyond the first bytes.
	if _, err := in.Peek(2); err != nil && !errors.Is(err, io.EOF) {
		if name == "-" {
			err = console.Failed("standard input: %w", err)
		}
		return nil, Unreadable(err)
	}
	head, _ := in.Peek(in.Buffered())
	if looksLikeScript(head) {
		return readScript(name, in)
	}
	return &Source{Reader: recorder.NewReader(in), Name: name}, nil
}

// namedPipe is one in the file system, which is opened when it is first read:
// that may wait, too.
type namedPipe struct {
	name string
	file *os.File
}

func (p *namedPipe) Read(b []byte) (n int, err error) {
	if p.file == nil {
		if p.file, err = os.Open(p.name); err != nil {
			return 0, fmt.Errorf("cannot open the recording: %w", err)
		}
	}
	return p.file.Read(b)
}

func IsNamedPipe(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
