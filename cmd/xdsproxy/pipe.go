package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// openPipe opens what comes through a pipe: a recording, or else a conversation
// script.
func (a *app) openPipe(name string, from io.Reader) (*source, error) {
	in := bufio.NewReader(a.heedful(from))
	// What is there is looked at, but not waited for beyond the first bytes.
	if _, err := in.Peek(2); err != nil && !errors.Is(err, io.EOF) {
		if name == "-" {
			err = failed("standard input: %w", err)
		}
		return nil, unreadable(err)
	}
	head, _ := in.Peek(in.Buffered())
	if looksLikeScript(head) {
		return readScript(name, in)
	}
	return &source{Reader: recorder.NewReader(in), name: name}, nil
}

// heedful reads what from gives until a signal ends the program, which nothing
// that waits for a pipe would notice. What waits there is left behind.
func (a *app) heedful(from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err) // nil: the end
	}()
	context.AfterFunc(a.ctx, func() { _ = w.CloseWithError(context.Canceled) })
	return r
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

func isNamedPipe(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// readFile reads a file, and no more than a byte beyond most. One that is none
// may never begin, or never end: a signal ends the wait, too.
func (a *app) readFile(name string, most int64) ([]byte, error) {
	type outcome struct {
		text []byte
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			read <- outcome{nil, err}
			return
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, most+1))
		read <- outcome{text, err}
	}()
	select {
	case o := <-read:
		return o.text, o.err
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}
