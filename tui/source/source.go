// Package source says what a screen can show: a log, and what there is to know of
// it and to do with it.
package source

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// Source is the log that is shown. Open and Name must be there.
type Source struct {
	// Name is what people call it: a path, or an address.
	Name string
	// Filter is what the timeline begins with, "" for all of it.
	Filter string
	// NoFold says that entries that only repeat others have lines, too.
	NoFold bool
	// Open returns a reader from the beginning of the log. It is called several
	// times; each reader is closed.
	Open func() (index.Reader, error)
	// Live says that the log may grow.
	Live bool
	// Facts are those about all of it, from a glance; nil if there is no such.
	Facts func() (recorder.Facts, error)
	// Proxy is what is being proxied, nil if this process does no such thing.
	Proxy *Proxy
	// Annotate writes a person's note into the log; nil if the log is not ours
	// to write. Notes is then the file beside it that has them; nil if there is
	// no place for one, and the screen alone keeps them.
	Annotate func(session.Note)
	Notes    *notes.File
	// Link says how a distant log is reached, "" if all is well; nil if it is
	// near.
	Link func() string
	// Found is told what rules found, as it is found; it may be nil.
	Found func([]check.Finding)
	// Remember is told after each entry what is remembered of what is over; it
	// may be nil.
	Remember func(session.Seq, engine.Memory)
	// Notices are shown on the message line; they may be nil.
	Notices *Notices
	// Export writes what a person asked for to a file; nil if that cannot be
	// done. It is called beside the loop, and gives back what it has to say, a
	// line for each thing, the most important first.
	Export func(context.Context, ExportRequest) (string, error)
}

// Proxy is the proxy that runs in this process.
type Proxy struct {
	// Routes are the addresses, as in ":18000 > istiod:15010".
	Routes []Route
	// Clients is how many are connected.
	Clients func() int
	// Stats are those of the log.
	Stats func() recorder.Stats
	// Archive tells what of the log was uploaded; nil: nothing is.
	Archive func() Archived
	// Recording is where the log is kept: a path, or "memory".
	Recording func() string
}

// Archived is what of the log was uploaded, and what is not yet.
type Archived struct {
	Done, Pending, Failed, Dropped uint64 // segments
	DoneBytes, PendingBytes        int64
	Oldest                         time.Duration // how long the first that waits does
	Stalled                        bool
}

// Route is a listener and its upstream.
type Route struct {
	Listen, Upstream string
	Unverified       bool // the upstream speaks TLS, and its certificate is not verified
	// Secure says that the listener speaks TLS. Roots is the file that clients
	// have to trust then, "" if it is not known here; Asked, that they have to
	// show a certificate.
	Secure bool
	Roots  string
	Asked  bool
}

// ExportRequest is what is to be written: a form such as "xdsp" or "md", the
// filter that says of which entries, and where to.
type ExportRequest struct {
	Form, Filter, Path string
	Seqs               []session.Seq // only these, and what is needed to understand them
	// Rule is that of the finding which Seqs prove: then the rule is to find it
	// again in what is written.
	Rule string
	// Private hides names in forms of text; nil: they are written.
	Private *alias.Private
}
