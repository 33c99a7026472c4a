package index

import (
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/fold"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Index is what is known of a log so far. One goroutine adds to it, any may ask.
type Index struct {
	types  *descriptors.Types // set by NewFeed
	mu     sync.RWMutex
	blocks []*block
	n      int
	texts  arena
	words  wordTable // clients and content types
	kinds  wordTable // types: their numbers are short, and have to last
	places places
	last   session.Seq // the entry that was added last, with a line or without
	at     int64       // its time
	first  int64       // time of the first one
	gaps   uint64
	proofs map[session.Seq][]filterFinding
	stats  *counter
	marks  marks
	folds  folds

	carried  carried
	silences []Silence

	lines *render.Table // what events say

	generation atomic.Uint64
}

const blockRows = 4096

type block [blockRows]Row

// New returns an empty index.
func New() *Index {
	return &Index{
		words: newWords(), kinds: newWords(), places: newPlaces(), lines: render.NewTable(0, render.Style{}),
		proofs: make(map[session.Seq][]filterFinding), stats: newCounter(), marks: newMarks(),
		carried: newCarried(),
		folds:   folds{folder: fold.New(), heads: make(map[session.Seq]*fold.Run)},
	}
}

// Types are the message types beside the linked ones that the log is read with.
func (x *Index) Types() *descriptors.Types { return x.types }

// Generation grows with every change, so that who has drawn one need not draw
// it again.
func (x *Index) Generation() uint64 { return x.generation.Load() }

// Len is how many rows there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n
}

// Last is the number and the time of the newest entry, which need not have a
// row.
func (x *Index) Last() (session.Seq, time.Time) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.last == 0 {
		return 0, time.Time{}
	}
	return x.last, time.Unix(0, x.at)
}

// Extent is how many rows there are, and the newest entry that was looked at.
func (x *Index) Extent() (rows int, last session.Seq) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n, x.last
}

// First is the time of the first entry.
func (x *Index) First() time.Time {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.first == 0 {
		return time.Time{}
	}
	return time.Unix(0, x.first)
}

// Gaps is how many gaps there are.
func (x *Index) Gaps() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.gaps
}

func (x *Index) row(i int) *Row { return &x.blocks[i/blockRows][i%blockRows] }

// Rows appends up to most rows to dst, from position from on.
func (x *Index) Rows(dst []Row, from, most int) []Row {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := max(from, 0); i < min(from+most, x.n); i++ {
		dst = append(dst, *x.row(i))
	}
	return dst
}

// Row is the row at a position.
func (x *Index) Row(i int) (Row, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i < 0 || i >= x.n {
		return Row{}, false
	}
	return *x.row(i), true
}

// Find is the position of the first row whose number is at least seq.
func (x *Index) Find(seq session.Seq) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.find(seq)
}

func (x *Index) find(seq session.Seq) int {
	return sort.Search(x.n, func(i int) bool { return x.row(i).Seq >= seq })
}

// BySeq is the row of an entry.
func (x *Index) BySeq(seq session.Seq) (Row, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i := x.find(seq); i < x.n && x.row(i).Seq == seq {
		return *x.row(i), true
	}
	return Row{}, false
}

// Words are the texts that belong to a row. Text is that of an event.
type Words struct {
	Client, Type, Version, Nonce, Text string

	Conn   session.ConnID
	Stream session.StreamID
	Method xds.Method
}

// Words returns the texts of a row. They are as peers sent them, but for Text,
// which is safe on a terminal.
func (x *Index) Words(r *Row) Words {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.wordsOf(r)
}

func (x *Index) wordsOf(r *Row) Words {
	p := &x.places.all[r.place]
	w := Words{
		Client: x.clientOf(r), Type: x.kinds.list[r.typ],
		Nonce: x.texts.text(r.nonce), Conn: p.conn, Stream: p.stream, Method: p.method,
	}
	if w.Client == "" {
		w.Client = p.nameless()
	}
	if r.Kind == session.KindMessage {
		w.Version = x.texts.text(r.version)
	} else {
		w.Text = x.texts.text(r.version)
	}
	return w
}

// clientOf is the node id of a row's client, "" if it never named itself.
func (x *Index) clientOf(r *Row) string { return x.words.list[x.clientID(r)] }

// clientID is that client, 0 if it never named itself. The first entries of a
// connection belong to the client that is named later.
func (x *Index) clientID(r *Row) uint32 {
	if r.client != 0 {
		return r.client
	}
	return x.places.clientAt(r.place)
}

// add takes the next entry. It is called by one goroutine.
func (x *Index) add(e *session.Entry, c *check.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines.See(e, c)
	at := e.Time.UnixNano()
	if x.first == 0 {
		x.first = at
	}
	x.last, x.at = e.Seq, at
	r := Row{Seq: e.Seq, Time: at, Kind: e.Kind, Side: e.Side, Count: None}
	r.place = x.places.of(e)
	if p := &x.places.all[r.place]; p.method.Path == "" && c.Method.Path != "" {
		p.method = c.Method
	}
	x.places.begin(r.place, e)
	if e.Kind == session.KindOpen || e.Kind == session.KindHeader {
		if ct := session.Get(e.Headers, "content-type"); ct != "" {
			x.places.all[r.place].content[senderOf(e.Side)] = x.words.id(ct, math.MaxInt32)
		}
	}
	r.client = x.words.id(c.Client, math.MaxInt32)
	if e.Conn != 0 { // what clients hold is told apart from their connections
		x.places.named(r.place, r.client)
	}
	r.typ = uint16(x.kinds.id(c.Type, math.MaxUint16))
	if len(e.Problems) > 0 {
		r.Flags |= Troubled
	}
	if c.Uncertain {
		r.Flags |= Uncertain
	}
	shown := true
	if e.Kind == session.KindMessage && e.Message != nil {
		x.addMessage(&r, e, c)
	} else {
		shown = x.addEvent(&r, e, c)
	}
	x.prove(&r, c.Findings)
	x.silence(e)
	x.stats.add(x, &r, e)
	x.generation.Add(1)
	stands := x.folds.folder.Step(e, &c.Change, len(c.Findings) > 0)
	if !shown {
		return
	}
	x.folds.add(x.n, stands)
	if x.n%blockRows == 0 {
		x.blocks = append(x.blocks, new(block))
	}
	*x.row(x.n) = r
	x.n++
}

func senderOf(s session.Side) int {
	if s == session.Server {
		return 1
	}
	return 0
}

func (x *Index) addMessage(r *Row, e *session.Entry, c *check.Change) {
	r.Size = saturate(e.Message.Size)
	if e.Message.Masked {
		r.Flags |= Masked
	}
	if e.Message.Truncated {
		r.Flags |= Truncated
	}
	r.What = whatOf(c.What)
	for _, w := range c.Also {
		r.also |= 1 << whatOf(w)
	}
	m := c.Message
	if m == nil {
		return
	}
	if len(m.Problems) > 0 {
		r.Flags |= Troubled
	}
	if n, is := c.Count(); is {
		r.Count = int32(min(n, math.MaxInt32))
	}
	r.version, r.nonce = x.texts.add(m.Version), x.texts.add(m.Nonce)
	if r.accepted = away(c.Accepted, e.Seq); c.None {
		r.Flags |= Bare
	}
	if m.Response() {
		if x.carried.add(e.Seq, c); pulse(m) {
			r.Flags |= Pulse
		}
	}
	if c.Response != nil && len(c.Sub.Sent) > 1 {
		r.before = away(c.Sub.Sent[len(c.Sub.Sent)-2].Seq, e.Seq)
	}
	if r.partner = away(c.Answers, e.Seq); r.partner == 0 {
		return
	}
	r.waited = max(1, saturate(c.Waited.Microseconds()))
	if i := x.find(c.Answers); i < x.n && x.row(i).Seq == c.Answers && x.row(i).partner == 0 {
		of := x.row(i)
		of.partner, of.waited = r.partner, r.waited
	}
}

func (x *Index) addEvent(r *Row, e *session.Entry, c *check.Change) bool {
	ev, shown := x.lines.Event(e, c)
	switch e.Kind {
	case session.KindGap:
		x.gaps++
		shown = true
	case session.KindNote:
		x.annotateFrom(e.Note)
	}
	if ev.Sign == "!" || ev.Sign == "~" {
		r.Flags |= Aside
	}
	r.version = x.texts.add(ev.Text)
	return shown
}

// OnStream is the entry before or after a row on its stream, 0 if there is none
// near.
func (x *Index) OnStream(r *Row, forward bool) session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	step := -1
	if forward {
		step = 1
	}
	for i, n := x.find(r.Seq)+step, 0; i >= 0 && i < x.n && n < maxWalk; i, n = i+step, n+1 {
		if x.row(i).place == r.place {
			return x.row(i).Seq
		}
	}
	return 0
}

// maxWalk bounds how far is looked along the rows for one of a stream.
const maxWalk = 1 << 22
