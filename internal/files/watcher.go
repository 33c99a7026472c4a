package files

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/session"
)

// Watcher watches. But for what it counts it is of one goroutine.
type Watcher struct {
	o      Options
	dirs   []*directory
	files  map[string]*watched    // by the directory as it was named, and the name in it
	named  map[string]file.Source // files that a client is known to subscribe to, by the same
	system *fsnotify.Watcher      // nil: the system tells nothing
	hears  map[string]os.FileInfo // directories of which it tells, and which these are
	marks  map[string]mark        // what it told of names since the last look
	missed bool                   // some of that was lost
	keep   map[string]bool        // names whose marks are for the next look, too
	last   bool                   // this is the last look
	said   map[string]bool
	begun  bool // all was looked at once
	again  bool // something has changed of which the system has not told yet
	fresh  bool // another file is known to be subscribed to
	// waiting is how many files there may be for which there was no room, and left the
	// first of them.
	waiting int
	left    string
	// since is when what is looked at now can have happened first: the first event
	// of it, or the look before.
	since, looked time.Time

	cancel context.CancelFunc
	run    sync.WaitGroup

	count, loads atomic.Uint64
}

// Stats are how many files are watched, and how often one changed.
type Stats struct{ Files, Loads uint64 }

// Stats are those so far.
func (w *Watcher) Stats() Stats {
	if w == nil {
		return Stats{}
	}
	return Stats{w.count.Load(), w.loads.Load()}
}

// Start reads what is there, and begins to watch.
func Start(o Options) (*Watcher, error) {
	w := &Watcher{
		o: o, files: map[string]*watched{}, named: map[string]file.Source{}, hears: map[string]os.FileInfo{}, marks: map[string]mark{},
		keep: map[string]bool{}, said: map[string]bool{},
	}
	for _, name := range o.Dirs {
		d, err := newDirectory(name)
		if err != nil {
			return nil, err
		}
		w.dirs = append(w.dirs, d)
	}
	w.know(o.Sources)
	var err error
	if w.system, err = fsnotify.NewWatcher(); err != nil {
		w.tell("unheard", &News{Wrong: true, Text: fmt.Sprintf("the system tells of no changes (%v): files are looked at every %s, and how they changed is not always known", err, cmp.Or(o.Slowly, slowly))})
		w.system = nil
	}
	w.listen() // before the first look, so that nothing is lost between
	w.look()
	w.begun = true
	w.listen()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.run.Go(func() { w.watch(ctx) })
	return w, nil
}

// Close has a last look, and ends the watching.
func (w *Watcher) Close() {
	if w == nil {
		return
	}
	w.cancel()
	w.run.Wait()
}

func (w *Watcher) watch(ctx context.Context) {
	every := time.NewTicker(cmp.Or(w.o.Slowly, slowly))
	defer every.Stop()
	due := time.NewTimer(time.Hour)
	due.Stop()
	var first time.Time // of the events that wait for a look
	var events chan fsnotify.Event
	var errors chan error
	if w.system != nil {
		defer w.system.Close()
		events, errors = w.system.Events, w.system.Errors
	}
	for {
		select {
		case <-ctx.Done():
			w.last = true
			w.look()
			return
		case e := <-events:
			w.note(e)
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			due.Reset(min(quiet, max(first.Add(longest).Sub(now), 0)))
			continue
		case <-errors:
			w.missed = true // the queue of the system was full
			continue
		case <-due.C:
			if !w.again {
				w.since = first
			}
		case <-every.C:
			if !first.IsZero() {
				continue
			}
			w.since = w.looked
		}
		first = time.Time{}
		if w.look(); w.again {
			first = time.Now()
			due.Reset(quiet)
		}
		w.listen()
	}
}

// tell says something once, to people and in the recording. What is of one path has that
// behind a zero in its cause: there is no end of paths, and of other causes there is.
func (w *Watcher) tell(cause string, n *News) {
	if w.said[cause] || len(w.said) >= 10*maxFiles && strings.Contains(cause, "\x00") {
		return
	}
	w.said[cause] = true
	w.say(n)
}

// say says something to people and in the recording.
func (w *Watcher) say(n *News) {
	w.o.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Time: time.Now(), Note: &session.Note{Code: session.NoteFiles, Text: n.Text, Hint: n.Hint}})
	if w.o.Said != nil {
		w.o.Said(n)
	}
}
