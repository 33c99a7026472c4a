package files

import (
	"cmp"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// watched is one file.
type watched struct {
	key    string
	path   string       // as the client has it
	source *file.Source // nil: it is not known what the client watches
	stream session.StreamID

	trail trail
	there bool
	gone  time.Time // when it was found that it was gone, if it is not there
	begun bool      // it was looked at before
	// waited says that it was there before it was known to be subscribed to.
	waited bool
	sum    [sha256.Size]byte
	// looks is the directory in which Envoy looks for moves, as it was first.
	looks os.FileInfo
	blind bool // that was removed
	tries int  // that met a file that is being written
	early int  // that met a change of which the system had not told yet
}

// subscribe takes what a client watches.
func (f *watched) subscribe(s file.Source) {
	f.source, f.path, f.looks, f.blind = &s, s.Path, nil, false
}

// dir is the directory in which Envoy looks for moves.
func (f *watched) dir() string {
	if f.source != nil && f.source.Directory != "" {
		return f.source.Directory
	}
	return filepath.Dir(f.path)
}

// change is what happened to a file between two looks.
type change struct {
	event, from, seen string
	replaced          bool // the directory in which Envoy looks
}

// examine looks at one file, and enters what happened to it.
func (w *Watcher) examine(f *watched) {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return
	}
	next, err := follow(abs)
	if err != nil || next.end() == nil || next.end().info.IsDir() {
		if f.there {
			f.there, f.gone = false, time.Now()
			w.enterChange(f, &change{event: xds.FileDeleted}, nil)
		}
		return
	}
	looks, _ := os.Stat(f.dir())
	if f.looks == nil {
		f.looks = looks
	}
	c := w.told(f, &next)
	end := next.end().info
	if c == nil {
		if was := f.trail.end().info; was.Size() == end.Size() && was.ModTime().Equal(end.ModTime()) {
			return
		}
		c = w.written(&next)
	}
	if c.event == xds.FileChanged && w.postpone(f, &next) {
		return
	}
	f.early = 0
	data, steady, err := read(abs)
	if !steady && f.tries < 10 { // the next look will tell
		f.tries++
		w.remember(&next)
		return
	}
	f.tries = 0
	sum := sha256.Sum256(data)
	same := err == nil && f.there && sum == f.sum
	f.trail, f.there, f.begun, f.sum = next, true, true, sum
	if same && (c.event == xds.FileWritten || c.event == xds.FileChanged) {
		return
	}
	c.replaced = f.looks != nil && looks != nil && (f.blind || !os.SameFile(f.looks, looks))
	w.judge(f, c, looks)
	if err != nil {
		w.unread(f, err)
		w.enterChange(f, c, nil)
		return
	}
	w.enterChange(f, c, data)
}

// told says what happened to the trail of a file; nil: it leads where it led.
func (w *Watcher) told(f *watched, next *trail) *change {
	if !f.begun {
		if !w.begun || f.waited {
			return &change{event: xds.FileRead}
		}
		return w.own(next, false)
	}
	at := f.trail.parting(next)
	switch {
	case at == nil && f.there:
		return nil
	case at != nil && at.at != next.own().at:
		return &change{event: xds.FileSwapped, from: at.at}
	}
	return w.own(next, f.there)
}

// written says what happened to a file that has other content where its trail leads where
// it led: it was written to, unless the system told that something came to a name on the
// trail. Then that has the number of a file that was gone by then, as after two moves.
func (w *Watcher) written(next *trail) *change {
	for i := range next.steps {
		switch s := &next.steps[i]; {
		case !w.marks[s.at].created:
		case s.at == next.own().at:
			return w.own(next, true)
		default:
			return &change{event: xds.FileSwapped, from: s.at}
		}
	}
	if !w.marks[next.end().at].written {
		return &change{event: xds.FileChanged}
	}
	return &change{event: xds.FileWritten}
}

// postpone leaves a change to the next looks, for two of them, if the system may still
// tell of it.
func (w *Watcher) postpone(f *watched, next *trail) bool {
	if f.early == 2 || w.missed || w.last || w.system == nil {
		return false
	}
	f.early++
	w.again = true
	w.remember(next)
	return true
}

// remember keeps what the system told of the names on a trail for the next look.
func (w *Watcher) remember(t *trail) {
	for i := range t.steps {
		w.keep[t.steps[i].at] = true
	}
}

// own is the step of the file's own name, which may be a link.
func (t *trail) own() *step {
	for i := range t.steps {
		if t.steps[i].last {
			return &t.steps[i]
		}
	}
	return t.end()
}

// own says how another file came to the name of a file, in the place of another one if there was one.
func (w *Watcher) own(next *trail, there bool) *change {
	at := next.own()
	switch how, known := w.moved(at, there); {
	case !known:
		return &change{event: xds.FileChanged}
	case how:
		return &change{event: xds.FileRenamed, from: w.marks[at.at].from}
	}
	return &change{event: xds.FileCreated}
}

// moved says whether what stands at a step now was moved there, or was made there.
// there says that something stood there before.
func (w *Watcher) moved(s *step, there bool) (moved, known bool) {
	m := w.marks[s.at]
	switch {
	case !m.created || w.missed:
		return false, false
	case m.from != "", there && !m.removed: // it took the place of what was there
		return true, true
	case s.target != "":
		return false, m.removed
	case s.info.IsDir(), links(s.info) > 1: // that may have been made, or moved there
		return false, false
	}
	return !m.written && s.info.Size() > 0, true
}

// judge says whether Envoy sees a change, if that does not depend on what is not
// known: it sees what is moved to where it looks.
func (w *Watcher) judge(f *watched, c *change, looks os.FileInfo) {
	at := f.trail.own().at
	if c.event == xds.FileSwapped {
		at = c.from
	}
	switch c.event {
	case xds.FileRead, xds.FileChanged:
		return
	case xds.FileWritten, xds.FileCreated:
		c.seen = "no"
		return
	}
	switch {
	case c.replaced:
		c.seen = "no"
	case f.source == nil:
		if c.event == xds.FileRenamed {
			c.seen = "yes" // unless it has a watched_directory elsewhere
		}
	case f.source.Directory == "":
		c.seen = answer(c.event == xds.FileRenamed)
	default:
		in, err := os.Stat(filepath.Dir(at))
		if err != nil || looks == nil || !os.SameFile(in, looks) {
			c.seen = "no"
			return
		}
		for i := range f.trail.steps {
			if s := &f.trail.steps[i]; s.at == at && c.event == xds.FileSwapped {
				if moved, known := w.moved(s, true); known {
					c.seen = answer(moved)
				}
				return
			}
		}
		c.seen = "yes"
	}
}

func answer(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// letGo lets go of the files that have been gone for longest, if others need their room,
// and says whether it did. One that comes back begins a stream of its own.
func (w *Watcher) letGo() bool {
	var gone []*watched
	for _, f := range w.files {
		if f.begun && !f.there {
			gone = append(gone, f)
		}
	}
	slices.SortFunc(gone, func(a, b *watched) int { return cmp.Or(a.gone.Compare(b.gone), strings.Compare(a.key, b.key)) })
	gone = gone[:min(len(gone), w.waiting)]
	for _, f := range gone {
		delete(w.files, f.key)
		w.o.Append(session.Entry{
			Side: session.Server, Kind: session.KindTrailer, Time: time.Now(), Stream: f.stream,
			Status: &session.Status{Code: -1, Message: "the file is gone, and gave way to another one"},
		})
	}
	if len(gone) == 0 {
		return false
	}
	w.left = "" // there is room for it
	return true
}

// enterChange makes the entries of a change.
func (w *Watcher) enterChange(f *watched, c *change, data []byte) {
	now := time.Now()
	add := func(e session.Entry) {
		e.Time, e.Stream = now, f.stream
		if e.Kind == session.KindMessage && !w.since.IsZero() {
			e.Start = w.since
		}
		w.o.Append(e)
	}
	if f.stream == 0 {
		f.stream = w.o.NewStream()
		add(session.Entry{Side: session.Proxy, Kind: session.KindOpen, Method: xds.FilePrefix + f.path})
	}
	fields := []session.Field{{Name: xds.FileEvent, Value: c.event}}
	field := func(name, value string) {
		if value != "" {
			fields = append(fields, session.Field{Name: name, Value: value})
		}
	}
	field(xds.FileFrom, c.from)
	field(xds.FilePath, f.path)
	if f.source != nil {
		field(xds.FileWatched, xds.FileAlone)
		if d := f.source.Directory; d != "" {
			fields[len(fields)-1].Value = d
		}
	}
	field(xds.FileSeen, c.seen)
	if c.replaced {
		field(xds.FileReplaced, f.dir())
	}
	add(session.Entry{Side: session.Server, Kind: session.KindHeader, Headers: fields})
	if data != nil {
		e := file.Load(file.File{Name: f.path, Data: data})
		add(e)
		if len(e.Message.Data) > 0 {
			w.know(file.Sources(e.Message.Data.Bytes()))
		}
	}
	if c.event != xds.FileRead {
		w.loads.Add(1)
	}
	if w.o.Loaded != nil {
		w.o.Loaded()
	}
}
