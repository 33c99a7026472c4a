package input

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/file"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/session"
)

// IsFile says whether a SOURCE is a file of Envoy's filesystem
// subscriptions. It goes by the name, as Envoy does.
func IsFile(name string) bool { return file.Is(name) && !IsURL(name) }

// openResources reads one such file, which must be one that Envoy can read.
func (o *Opener) openResources(name string) (*Source, error) {
	files, at, err := readFiles([]string{name})
	if err != nil {
		return nil, err
	}
	content, err := file.Read(name, files[0].Data)
	if fault, is := errors.AsType[*file.Error](err); is {
		return nil, console.Failed("%w", fault).Hint("%s", fault.Hint).
			Hint("such a file is a DiscoveryResponse, or for diff a whole config_dump; xdsproxy help sources says more")
	}
	for _, w := range content.Warnings {
		o.Warn("%s", w)
	}
	return sessionOf(name, file.Entries(files, at))
}

// OpenFiles reads such files, whatever is in them, as one session.
func OpenFiles(names []string) (*Source, error) {
	files, at, err := readFiles(names)
	if err != nil {
		return nil, err
	}
	name := names[0]
	if len(names) > 1 {
		name = ""
	}
	return sessionOf(name, file.Entries(files, at))
}

// readFiles reads files, and says when the newest was written.
func readFiles(names []string) (files []file.File, at time.Time, err error) {
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, at, Unreadable(err)
		}
		data, err := io.ReadAll(io.LimitReader(f, file.MaxSize+1))
		if info, unknown := f.Stat(); unknown == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
		f.Close()
		if err != nil {
			return nil, at, console.Failed("cannot read the file: %w", err)
		}
		files = append(files, file.File{Name: name, Data: data})
	}
	return files, at, nil
}

// sessionOf keeps entries that are in memory as a recording, secrets masked.
func sessionOf(name string, entries []session.Entry) (*Source, error) {
	o := store.Copy(true)
	o.Program = build.Name()
	return inMemory(name, slices.Values(entries), o)
}
