package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/capture"
	"github.com/xdsproxy/xdsproxy/internal/convert/grpcdump"
	"github.com/xdsproxy/xdsproxy/internal/convert/state"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// sniffed is how many bytes of a file tell its form.
const sniffed = 64 << 10

// foreign is a form of other programs, of which a recording can be made.
type foreign struct {
	name string // with its article
	// begins says whether a file that begins with these bytes, at most sniffed of
	// them, is of this form. nil: its beginning does not tell.
	begins func(head []byte) bool
	// read gives every entry to emit, and keeps none. It ends at the first error
	// of emit.
	read func(in *bufio.Reader, emit func(*session.Entry) error) (imported, error)
}

// imported is what was read of a file. What it says is whole sentences without
// a full stop.
type imported struct {
	entries, messages uint64
	none              string // what a file has in which is no entry
	said, warned      []string
	// damage says why the file could not be read any further.
	damage error
	// unlike says that nothing of the file is of the form.
	unlike bool
}

// foreigns are the forms, in the order in which they are tried. The last is
// taken where no other is.
func foreigns(of state.File) []foreign {
	return []foreign{
		{"a capture of packets", capture.Begins, readCapture},
		{"a config_dump, or an answer of CSDS", state.Is, readState(of)},
		{"a dump of grpc-dump", grpcdump.Is, readGRPCDump},
		{"a binary log of gRPC", nil, readBinaryLog},
	}
}

// ImportFile makes a recording of a file of another program.
func ImportFile(c *console.Console, name, path string) error {
	if input.IsURL(name) {
		return console.Misused("import reads files, and %s is a URL", name).Hint("copy it here first")
	}
	in, of := c.Stdin, state.File{Name: filepath.Base(name)}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return console.Failed("cannot read the file: %w", err)
		}
		defer f.Close()
		in = f
		if info, err := f.Stat(); err == nil {
			of.Time = info.ModTime()
			if !info.Mode().IsRegular() {
				in = c.Heedful(in)
			}
		}
	} else if console.IsTerminal(c.Stdin) {
		return console.Misused("standard input is a terminal, not a file")
	} else {
		in = c.Heedful(in)
		name = "the input"
	}
	far := &extent{ctx: c.Ctx, in: in}
	far.line = c.Progress("importing", name, func() (int64, uint64) { return far.read, far.entries })
	defer far.line.End()
	r := bufio.NewReaderSize(far, sniffed)
	head, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return notImported(name, err)
	}
	var form foreign
	for _, form = range foreigns(of) {
		if form.begins == nil || form.begins(head) {
			break
		}
	}
	var to *recorder.Copy
	done, err := form.read(r, func(e *session.Entry) (err error) {
		if to == nil {
			to, err = recorder.NewCopy(path, recorder.Facts{Created: time.Now(), Program: build.Name()}, store.Copy(true))
			if err != nil {
				return console.Overwriting("cannot import", err)
			}
		}
		if c.Ctx.Err() != nil {
			return c.Ctx.Err()
		}
		far.entries++
		far.line.Advance()
		return to.Add(e)
	})
	far.line.End()
	if far.stopped { // a form may take that for damage
		err = c.Ctx.Err()
	}
	if to == nil {
		switch {
		case err != nil:
			return notImported(name, err)
		case done.unlike:
			return unknownForm(name, head)
		case done.damage != nil:
			return console.Failed("%s is not %s: %w", name, form.name, done.damage).Hint("xdsproxy import --help says what it reads")
		}
		c.Say("%s has %s", name, done.none)
		for _, s := range done.warned {
			c.Warn("%s", s)
		}
		return nil
	}
	if err != nil {
		_ = to.Discard()
		return notImported(name, err)
	}
	masked := to.Masked()
	size, err := to.Close()
	if err != nil {
		return console.Failed("%w", err)
	}
	c.Say("wrote %s to %s, %s", render.Count(done.entries, "entry", "entries"), path, render.Size(size))
	for _, s := range done.said {
		c.Say("%s", s)
	}
	c.Say("secrets are masked, in %s of %s", render.Number(masked), render.Count(done.messages, "message", "messages"))
	for _, s := range done.warned {
		c.Warn("%s", s)
	}
	if done.damage != nil {
		f := console.Failed("%s is damaged: %w", name, done.damage)
		f.Code = console.ExitDamaged
		return f.Hint("what is before that is in %s", path)
	}
	c.Say("read it with: xdsproxy watch %s", console.ShellWord(path))
	return nil
}

// unknownForm is the error for a file in which nothing could be read. head is its
// beginning.
func unknownForm(name string, head []byte) error {
	begins := func(with string) bool { return bytes.HasPrefix(head, []byte(with)) }
	switch {
	case begins("X*M\x18") && bytes.Contains(head, []byte("xdsp")): // docs/format.md
		return console.Failed("%s is a recording already", name)
	case begins("\x1f\x8b"), begins("\x28\xb5\x2f\xfd"), begins("\xfd7zXZ"), begins("BZh"), begins("PK\x03\x04"):
		return console.Failed("%s is compressed", name).Hint("unpack it first, and import what comes out")
	case begins("\xff\xfe"), begins("\xfe\xff"):
		return console.Failed("%s is text in UTF-16", name).Hint("write it anew in UTF-8: PowerShell does with Out-File -Encoding utf8")
	}
	return console.Failed("%s is of none of the forms that are read", name).Hint("xdsproxy import --help says what it reads")
}

// extent is how far a file was read. It is read no further once ctx is over.
type extent struct {
	ctx     context.Context
	in      io.Reader
	line    *console.Progress
	read    int64
	entries uint64
	stopped bool
}

func (x *extent) Read(p []byte) (n int, err error) {
	if err = x.ctx.Err(); err == nil {
		n, err = x.in.Read(p)
	}
	x.stopped = errors.Is(err, context.Canceled)
	x.read += int64(n)
	x.line.Advance()
	return n, err
}

// notImported is an error of reading, or of writing what was read.
func notImported(name string, err error) error {
	if console.Said(err) || errors.Is(err, os.ErrExist) {
		return err
	}
	return console.Failed("cannot import %s: %w", name, err)
}
