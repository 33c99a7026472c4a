package columns

import (
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Recording is what is exported.
type Recording struct {
	Cluster, Proxy string
	Name           string // the same each time
	// Key tells it from others of its name; it is the same each time.
	Key string
	// Source is where it is read from. Several sources may be of one recording.
	Source string
}

func (r *Recording) base() string { return base(r.Cluster, r.Key, r.Name) }

// Walk reads a recording from its beginning to its end, through a Checker.
type Walk func(step *check.Checker, visit func(e *session.Entry, c *check.Change) error) error

// Done is what an export of a recording has done.
type Done struct {
	Entries uint64 // new rows of entries
	Read    uint64 // entries that were read for them
	// Missed is how many entries before the first that is there were deleted before
	// they were exported.
	Missed uint64
	// Untold is how many connections were too many to be followed.
	Untold uint64
}

// export is the export of one recording.
type export struct {
	d       *Dir
	of      Recording
	base    string
	there   *there
	checker *check.Checker

	conns conns
	told  told
	first int64 // number of the first entry that is its own
	last  int64 // of the last that was read, whether it is written or not
	hole  bool  // entries behind that one were left out on purpose
	holes bool  // there was a hole anywhere: it is a part of a recording
	at    time.Time
	cur   *writing
	held  *part           // the last one that was sealed: files may come to it
	wrote []span          // in parts that were handed over
	open  []connectionRow // what shut has left of open connections
	begun bool            // what stood there of the end of the recording is old
	done  Done
}

// writing is a part that is being written.
type writing struct {
	date        string
	spans       []span // ascending, with something between each two
	entries     *table[entryRow, *entryRow]
	acks        *table[ackRow, *ackRow]
	connections *table[connectionRow, *connectionRow]
}

// Export writes what of a recording is not there yet; nothing, if its source was
// exported before. While another source of the same recording is exported it waits. If
// the recording cannot be read to its end, what could be read is there and the error is
// that of the walk.
func (d *Dir) Export(of Recording, checker *check.Checker, walk Walk) (Done, error) {
	x := &export{d: d, of: of, base: of.base(), checker: checker, conns: newConns(), told: newTold()}
	if is, err := x.claim(); !is || err != nil {
		return x.done, err
	}
	defer x.release()
	err := walk(checker, x.visit)
	damage, damaged := errors.AsType[*recorder.DamageError](err)
	if err != nil && !damaged {
		x.discard()
		return x.done, err
	}
	x.done.Untold = x.conns.untold
	if err := x.end(); err != nil {
		x.discard()
		return x.done, err
	}
	if damage != nil {
		return x.done, err
	}
	return x.done, nil
}

// visit takes an entry and what it means.
func (x *export) visit(e *session.Entry, c *check.Change) error {
	x.done.Read++
	seq := int64(e.Seq)
	closed := x.conns.step(e, c)
	x.told.step(x.checker, c)
	x.at = e.Time
	if e.Carried || LeftOut(e) {
		// What stands before the first entry may be of a segment that is gone.
		x.hole = x.hole || seq > x.last && (x.first > 0 || !e.Carried)
		x.holes = x.holes || x.hole
		return nil
	}
	if x.first == 0 {
		x.begin(seq)
	}
	first := x.last + 1 // what was lost before it counts to it
	if x.hole {
		x.hole, first = false, seq
	}
	x.last = seq
	if x.there.covers(seq) {
		return nil
	}
	if e.Time.Before(x.d.o.Since) {
		return x.cut()
	}
	date := dateOf(e.Time)
	if x.cur != nil && (x.cur.date != date || x.cur.bytes() >= x.d.o.PartBytes) {
		if err := x.cut(); err != nil {
			return err
		}
	}
	if x.cur == nil {
		if err := x.start(date); err != nil {
			return err
		}
	}
	x.cur.has(span{first, seq})
	return x.write(e, c, closed)
}

// LeftOut says that an entry stands for others that a part of a recording has not. Its
// number is that of the last of them, which the whole recording may bring yet: so it is
// no row.
func LeftOut(e *session.Entry) bool { return e.Gap != nil && e.Gap.Cause.Chosen() }

// begin notes which entry is the first, and what was missed before it.
func (x *export) begin(seq int64) {
	x.first, x.last = seq, seq-1
	if seq == 1 || x.holes || x.there.covers(seq-1) {
		return
	}
	x.done.Missed = uint64(seq - 1)
	for _, s := range x.there.spans {
		if s.last < seq {
			x.done.Missed = uint64(seq - 1 - s.last)
		}
	}
}

// has adds numbers, which come behind those that were added.
func (w *writing) has(s span) {
	if n := len(w.spans); n > 0 && s.first <= w.spans[n-1].last+1 {
		w.spans[n-1].last = s.last
		return
	}
	w.spans = append(w.spans, s)
}

// all is the span from the first to the last.
func (w *writing) all() span { return span{w.spans[0].first, w.spans[len(w.spans)-1].last} }

func (w *writing) bytes() int64 { return w.entries.total + w.acks.total + w.connections.total }

// start begins a part.
func (x *export) start(date string) (err error) {
	w := &writing{date: date}
	meta := x.meta()
	if w.entries, err = newTable[entryRow](&x.d.o, x.d.beside(Entries), Entries, meta); err != nil {
		return err
	}
	if w.acks, err = newTable[ackRow](&x.d.o, x.d.beside(Acks), Acks, meta); err == nil {
		w.connections, err = newTable[connectionRow](&x.d.o, x.d.beside(Connections), Connections, meta)
	}
	x.cur = w
	return err
}

func (x *export) meta() map[string]string {
	return map[string]string{keyWrote: x.d.o.Program, keyRecording: text(x.of.Name)}
}

// write writes the rows that come of an entry.
func (x *export) write(e *session.Entry, c *check.Change, closed *connectionRow) error {
	row, err := x.entry(e, c)
	if err != nil {
		return err
	}
	if err := x.cur.entries.add(row); err != nil {
		return err
	}
	if ack, is := x.ack(e, c); is {
		if err := x.cur.acks.add(ack); err != nil {
			return err
		}
	}
	if closed != nil {
		if err := x.cur.connections.add(x.connection(closed)); err != nil {
			return err
		}
		if err := x.shut(closed); err != nil {
			return err
		}
	}
	x.done.Entries++
	return nil
}

// cut ends the part that is being written, if there is one. It hands over the one before.
func (x *export) cut() error {
	if x.cur == nil {
		return nil
	}
	p, err := x.seal()
	if err != nil {
		return err
	}
	before := x.held
	x.held = p
	return x.hand(before)
}

// hand publishes a part, if there is one.
func (x *export) hand(p *part) error {
	if p == nil {
		return nil
	}
	x.wrote = append(x.wrote, p.spans...)
	return x.d.hand(p)
}

// seal brings the part that is being written to the disk, beside.
func (x *export) seal() (*part, error) {
	w := x.cur
	p, all := &part{spans: w.spans, bytes: w.bytes()}, w.all()
	if !x.begun && all.last > x.there.end() {
		x.begun, p.old = true, x.there.standing
	}
	in := func(table string) string {
		return filepath.Join(x.d.root, place(table, x.of.Cluster, w.date), partName(x.base, all, len(w.spans) > 1))
	}
	last := strconv.FormatInt(all.last, 10)
	first := strconv.FormatInt(all.first, 10)
	w.entries.rows.SetKeyValueMetadata(keyFirst, first)
	w.entries.rows.SetKeyValueMetadata(keyLast, last)
	if err := w.entries.seal(); err != nil {
		return nil, err
	}
	p.entries = [2]string{w.entries.path, in(Entries)}
	if w.acks.count == 0 {
		w.acks.discard()
	} else {
		if err := w.acks.seal(); err != nil {
			return nil, err
		}
		p.files = append(p.files, [2]string{w.acks.path, in(Acks)})
	}
	if w.connections.count == 0 {
		w.connections.discard()
	} else {
		if err := w.connections.seal(); err != nil {
			return nil, err
		}
		p.files = append(p.files, [2]string{w.connections.path, in(Connections)})
	}
	x.cur = nil
	return p, nil
}

// end writes what is told of the recording as a whole, and hands over the last part.
// Where nothing is new, it stands there already.
func (x *export) end() error {
	if err := x.cut(); err != nil || x.held == nil {
		return err
	}
	if err := x.standing(x.held); err != nil {
		return err
	}
	p := x.held
	x.held = nil
	return x.hand(p)
}

func (x *export) discard() {
	if w := x.cur; w != nil {
		w.entries.discard()
		if w.acks != nil {
			w.acks.discard()
		}
		if w.connections != nil {
			w.connections.discard()
		}
		x.cur = nil
	}
	if x.held != nil {
		x.held.discard()
		x.held = nil
	}
}

// one writes a file of rows that were gathered.
func one[T any, P row[T]](x *export, p *part, name, to string, rows []T) error {
	meta := x.meta()
	meta[keyFirst], meta[keyLast] = strconv.FormatInt(x.first, 10), strconv.FormatInt(x.last, 10)
	t, err := newTable[T, P](&x.d.o, x.d.beside(name), name, meta)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := t.add(r); err != nil {
			t.discard()
			return err
		}
	}
	if err := t.seal(); err != nil {
		return err
	}
	p.files = append(p.files, [2]string{t.path, to})
	return nil
}
