package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder"
)

const (
	scriptSuffix = ".xds"
	maxScript    = 64 << 20
)

// recordingMagic is what every recording begins with.
var recordingMagic = []byte{0x58, 0x2A, 0x4D, 0x18}

// openPipe opens standard input: a recording, or else a conversation script.
func (a *app) openPipe() (*source, error) {
	in := bufio.NewReader(a.stdin)
	head, err := in.Peek(len(recordingMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, failed("standard input: %w", err)
	}
	if len(head) == 0 || bytes.Equal(head, recordingMagic) || !printable(head) {
		return &source{Reader: recorder.NewReader(in), name: "-"}, nil
	}
	return readScript("-", in)
}

func printable(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == '\uFFFD' })
}

func openScript(name string) (*source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(fmt.Errorf("cannot open the script: %w", err))
	}
	defer f.Close()
	return readScript(name, f)
}

// readScript plays a script into a recording in memory, so that it is read as
// one.
func readScript(name string, in io.Reader) (*source, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxScript+1))
	if err != nil {
		return nil, failed("cannot read the script: %w", err)
	}
	if len(text) > maxScript {
		return nil, failed("%q is larger than %d MiB, which no script is", name, maxScript>>20)
	}
	s, err := script.Parse(name, text)
	if err != nil {
		return nil, badScript(err)
	}
	log, err := recorder.NewRing(recorder.Options{NoTicks: true, QueueBytes: math.MaxInt64, Memory: 1 << 40})
	if err != nil {
		return nil, err
	}
	for e := range s.Entries() {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	reader, err := log.Reader()
	if err != nil {
		return nil, err
	}
	return &source{Reader: reader, name: name, script: true}, nil
}

func badScript(err error) error {
	f := failed("%w", err)
	var at *script.Error
	if errors.As(err, &at) && at.Hint != "" {
		return f.hint("%s", at.Hint)
	}
	return f.hint("xdsproxy help scripts says how one is written")
}

// isScript goes by the name.
func isScript(name string) bool { return strings.HasSuffix(name, scriptSuffix) }
