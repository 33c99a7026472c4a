package files

import (
	"time"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// MaxSize is how large a file may be, in bytes, to be read. Envoy has no bound.
	MaxSize = 16 << 20
	// maxFiles bounds the files that are watched at once.
	maxFiles = 1000
	// maxSeen bounds the names of one directory that are looked at.
	maxSeen = 100_000
	// maxChain bounds the files that are known by another one, one after the other.
	maxChain = 8
	// maxWatches bounds the directories of which the system tells events.
	maxWatches = 1000

	// quiet is how long nothing has to happen before a look, longest how long a look
	// waits for that.
	quiet, longest = 50 * time.Millisecond, 500 * time.Millisecond
	// slowly is how often there is a look without any event.
	slowly = 2 * time.Second
)

// Options are what is watched, and who is told.
type Options struct {
	// Dirs are directories. What is below a directory in them is not watched.
	Dirs []string
	// Sources are the files that a client is known to subscribe to, if Known: then no
	// others are watched but those that these files name.
	Sources []file.Source
	Known   bool
	// Append takes an entry. It must not wait.
	Append func(session.Entry) session.Seq
	// NewStream is the next stream id of the session.
	NewStream func() session.StreamID
	// Loaded is called when there was a change; nil: nobody wants to know.
	Loaded func()
	// Said is told what people should know, in sentences; nil: nobody listens.
	Said func(*News)
	// Slowly is how often there is a look without any event; 0: every 2 seconds.
	Slowly time.Duration
}

// News is something that people should know. It comes once for each cause.
type News struct {
	Text, Hint string
	Wrong      bool // it is no mere note
}
