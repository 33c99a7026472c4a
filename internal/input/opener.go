package input

import (
	"errors"
	"io/fs"
	"os"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Last is the SOURCE that is the newest recording.
const Last = "@last"

// Opener opens what commands read, and tells of it.
type Opener struct {
	*console.Console
	// Token is that of the viewer endpoints of others.
	Token func() (string, error)
	// Types are message types beside the linked ones: those that are in what is
	// opened come in addition, when it is read. May be nil.
	Types *descriptors.Types
	// Tells is told what is to be said beside the work; Warn if nil.
	Tells func(format string, args ...any)
}

// warn says something that does not stop the work.
func (o *Opener) warn(format string, args ...any) {
	if o.Tells != nil {
		o.Tells(format, args...)
		return
	}
	o.Warn(format, args...)
}

// Open opens a SOURCE; "" is the running proxy of this user, else @last, which is
// then said.
func (o *Opener) Open(name string) (*Source, error) {
	src, err := o.open(name)
	if err == nil {
		src.types, src.tell = o.Types, o.warn
	}
	return src, err
}

func (o *Opener) open(name string) (*Source, error) {
	asked := name
	if IsURL(name) || isDir(name) {
		return o.openFleet(name)
	}
	if name == "-" {
		if console.IsTerminal(o.Stdin) {
			return nil, terminalInput()
		}
		return o.openPipe(name, o.Stdin)
	}
	if IsScript(name) {
		return openScript(name)
	}
	if IsFile(name) {
		return o.openResources(name)
	}
	addr, distant := ViewerAddr(name)
	if name == "" {
		addr, distant = o.local()
	}
	if distant {
		return o.openViewer(addr)
	}
	name, err := Path(name)
	if err != nil {
		return nil, err
	}
	if asked == "" {
		o.Say("reading %s (%s)", name, Last)
	}
	if IsNamedPipe(name) {
		return o.openPipe(name, &namedPipe{name: name})
	}
	r, err := recorder.Open(name)
	if err != nil && noSuchFile(err) {
		if src, joined := o.openFleet(name); joined == nil { // its segments are there
			return src, nil
		}
	}
	if err != nil {
		return nil, Unreadable(err)
	}
	info, err := os.Stat(name)
	return &Source{Reader: r, Name: name, File: err == nil && info.Mode().IsRegular()}, nil
}

// Path is the file that a SOURCE names.
func Path(name string) (string, error) {
	if _, is := ViewerAddr(name); is {
		return "", console.Misused("%q is a running proxy, and a file is wanted", name)
	}
	if IsURL(name) {
		return "", console.Misused("%q is a URL, and a file is wanted", name).Hint("copy it here first")
	}
	if isDir(name) {
		return "", console.Misused("%q is a directory, and a file is wanted", name)
	}
	if name != "" && name != Last {
		return name, nil
	}
	path, err := recorder.Last()
	if err != nil {
		return "", noLast(err)
	}
	return path, nil
}

func noLast(err error) error {
	f := console.Failed("%w", err)
	if errors.Is(err, fs.ErrNotExist) {
		f = console.Failed("there is no recording yet")
	}
	return f.Hint("make one: xdsproxy run --upstream ADDR, or xdsproxy demo --once").
		Hint("xdsproxy config says where recordings are kept")
}
