package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filed"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// File is what happened to a file that is watched.
type File struct {
	Event string `json:"event"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	// Watched is the watched_directory of Envoy's subscription, "file" if it has none.
	Watched string `json:"watched,omitempty"`
	// Seen is yes or no, by what Envoy watches; empty if it is not known.
	Seen     string `json:"seen,omitempty"`
	Replaced string `json:"replaced,omitempty"`
}

func fileText(e *session.Entry) string {
	event := filed.Of(e)
	return Safe(session.Get(e.Headers, xds.FilePath) + ": " + event.String())
}

// fileChanges are the resources of a file that it did not have before, with a plus,
// that are others, with a tilde, and that it has no more; false if it is the first
// time, or not known.
func fileChanges(c *check.Change) (out []string, is bool) {
	n := c.Response
	if c.Variant != xds.VariantFile || n == nil || n.WasFirst {
		return nil, false
	}
	out = signed(names(n.Added), nil)
	for _, name := range names(n.Changed) {
		out = append(out, "~"+name)
	}
	return append(out, signed(nil, names(n.Removed))...), true
}

func names(all []*engine.Resource) (out []string) {
	for _, r := range all {
		out = append(out, r.Name)
	}
	return out
}

// addFile adds what happened to a file, or how its content differs from the last.
func (o *Object) addFile(e *session.Entry, c *check.Change) {
	if e.Kind == session.KindHeader {
		f := filed.Of(e)
		o.File = &File{f.Event, strings.TrimPrefix(c.Method.Path, xds.FilePrefix), f.From, f.Watched, f.Seen, f.Replaced}
	}
	if n := c.Response; n != nil && !n.WasFirst {
		o.Added, o.Changed, o.Removed = names(n.Added), names(n.Changed), names(n.Removed)
	}
}

// HeldLoad is what a client made of a file, by its counters.
type HeldLoad struct {
	Path    string `json:"path"`
	Seq     uint64 `json:"seq"`     // of the content
	Verdict string `json:"verdict"` // taken, rejected, unreadable or not-read
	Why     string `json:"why,omitempty"`
}

func (o *Object) addLoads(c *check.Change) {
	if o.Held == nil {
		return
	}
	for _, l := range c.Loads {
		o.Held.Loads = append(o.Held.Loads, HeldLoad{l.Stream.Method.Name, uint64(l.Seq), l.Verdict.String(), l.Why})
	}
}

// loadText says what a client made of files.
func loadText(c *check.Change) string {
	var b strings.Builder
	for _, l := range c.Loads {
		what := map[effect.Verdict]string{effect.Taken: "took", effect.Rejected: "rejected", effect.Unread: "could not read", effect.Unseen: "has not read"}[l.Verdict]
		fmt.Fprintf(&b, "; %s %s of entry %d", what, Safe(l.Stream.Method.Name), l.Seq)
	}
	return b.String()
}
