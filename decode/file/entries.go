package file

import (
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// File is one file, as it was found.
type File struct {
	Name string
	Data []byte
}

// Entries makes a session of files that were all read at the same time. A file
// that cannot be read, and what was left out of one, are problems of its
// entries.
func Entries(files []File, at time.Time) []session.Entry {
	var out []session.Entry
	add := func(e session.Entry, stream int) {
		e.Seq, e.Time, e.Stream = session.Seq(len(out)+1), at, session.StreamID(stream)
		out = append(out, e)
	}
	for i, f := range files {
		add(session.Entry{Side: session.Proxy, Kind: session.KindOpen, Method: xds.FilePrefix + f.Name}, i+1)
		add(session.Entry{Side: session.Server, Kind: session.KindHeader, Headers: []session.Field{
			{Name: xds.FileEvent, Value: xds.FileRead}, {Name: xds.FilePath, Value: f.Name},
		}}, i+1)
		add(Load(f), i+1)
	}
	return out
}

// Load is the entry of the content of a file, but for its place in a session. It has
// no data if the file cannot be read.
func Load(f File) session.Entry {
	e := session.Entry{Side: session.Server, Kind: session.KindMessage}
	c, err := Read(f.Name, f.Data)
	size := int64(len(f.Data))
	if fault, is := errors.AsType[*Error](err); is {
		e.Message = &session.Message{Size: size, WireSize: size, Truncated: true}
		e.Problems = []string{fault.sentence()}
		return e
	}
	e.Message = &session.Message{Data: session.Chunks{c.Response}, Size: int64(len(c.Response)), WireSize: size}
	for _, w := range c.Warnings {
		e.Problems = append(e.Problems, w.sentence())
	}
	return e
}

// sentence is the error with its hint.
func (e *Error) sentence() string {
	if e.Hint == "" {
		return e.Error()
	}
	return e.Error() + "; " + e.Hint
}
