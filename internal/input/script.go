package input

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	ScriptSuffix = ".xds"
	maxScript    = 64 << 20
)

// looksLikeScript goes by how the lines of scripts begin.
func looksLikeScript(head []byte) bool {
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n")
	for _, start := range []string{"C>", "S<", "D>", "d<", "P>", "p<", "L>", "l<", "F:", "--", "t=+", "@", "#"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

func openScript(name string) (*Source, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, Unreadable(fmt.Errorf("cannot open the script: %w", err))
	}
	defer f.Close()
	return readScript(name, f)
}

// readScript plays a script into a recording in memory, so that it is read as
// one.
func readScript(name string, in io.Reader) (*Source, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxScript+1))
	if err != nil {
		return nil, console.Failed("cannot read the script: %w", err)
	}
	if len(text) > maxScript {
		return nil, console.Failed("%q is larger than %d MiB, which no script is", name, maxScript>>20)
	}
	s, err := script.Parse(name, text)
	if err != nil {
		return nil, badScript(err)
	}
	src, err := inMemory(name, s.Entries(), recorder.Options{})
	if err == nil {
		src.Line = s.Line
	}
	return src, err
}

// inMemory keeps entries as a recording that is in memory, so that they are read
// as one.
func inMemory(name string, entries iter.Seq[session.Entry], o recorder.Options) (*Source, error) {
	o.NoTicks, o.QueueBytes, o.Memory = true, math.MaxInt64, 1<<40
	log, err := recorder.NewRing(o)
	if err != nil {
		return nil, err
	}
	for e := range entries {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	reader, err := log.Reader()
	if err != nil {
		return nil, err
	}
	return &Source{Reader: reader, Name: name, Script: true}, nil
}

func badScript(err error) error {
	f := console.Failed("%w", err)
	var at *script.Error
	if errors.As(err, &at) && at.Hint != "" {
		return f.Hint("%s", at.Hint)
	}
	return f.Hint("xdsproxy help scripts says how one is written")
}

// IsScript goes by the name.
func IsScript(name string) bool { return strings.HasSuffix(name, ScriptSuffix) && !IsURL(name) }
