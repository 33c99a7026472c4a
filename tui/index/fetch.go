package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Fetched is an entry that was read again, with what it means.
type Fetched struct {
	Entry  session.Entry
	Change check.Change

	content string // the sender's content type
	client  string // as its row calls it
}

// Body is the message of an entry, decoded to the last field, as YAML.
func (f *Fetched) Body() string { return f.documents().Body(&f.Entry, &f.Change) }

// Document is the entry in full.
func (f *Fetched) Document() (*render.Document, error) {
	return f.documents().Document(&f.Entry, &f.Change)
}

// Decoded is its message as a tree.
func (f *Fetched) Decoded() document.Document {
	if f.Entry.Message == nil || f.Entry.Message.Unread() != "" {
		return document.Document{}
	}
	return decode.Decoder{Types: f.Change.Types}.Decode(f.Change.Method, f.Entry.Side, f.content, f.Entry.Message.Data.Bytes())
}

func (f *Fetched) documents() *render.Documents {
	d := render.NewDocuments()
	if f.content != "" {
		d.See(&session.Entry{
			Kind: session.KindHeader, Stream: f.Entry.Stream, Side: f.Entry.Side,
			Headers: []session.Field{{Name: "content-type", Value: f.content}},
		})
	}
	return d
}

const (
	// stride is how many entries are read past rather than sought past.
	stride = 256
	// maxCached bounds the bytes of messages that are kept.
	maxCached = 16 << 20
	// lookBack is how many rows are searched for the request before.
	lookBack = 1 << 16
)

// Fetcher reads entries again, with a reader of its own. Any goroutine may use
// it; one waits for the other.
type Fetcher struct {
	index *Index
	open  func() (Reader, error)

	mu     sync.Mutex
	reader Reader
	at     session.Seq // the entry that the reader gave last
	cache  map[session.Seq]*Fetched
	order  []session.Seq // of the cache, oldest first
	bytes  int64
	met    met
}

// NewFetcher returns a Fetcher that opens its reader when it is first needed.
func NewFetcher(x *Index, open func() (Reader, error)) *Fetcher {
	return &Fetcher{index: x, open: open, cache: make(map[session.Seq]*Fetched)}
}

// Close lets go of the reader.
func (f *Fetcher) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reader != nil {
		_ = f.reader.Close()
		f.reader = nil
	}
}

// errAbsent says that an entry is not in the log, or no longer.
var errAbsent = errors.New("it is not in the recording any more")

// Fetch reads entries. Those that are not there any more are missing in what it
// returns, beside an error that says why.
func (f *Fetcher) Fetch(ctx context.Context, seqs ...session.Seq) (map[session.Seq]*Fetched, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[session.Seq]*Fetched, len(seqs))
	var wrong error
	for _, seq := range slices.Sorted(slices.Values(seqs)) {
		got, err := f.one(ctx, seq)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			wrong = err
		default:
			out[seq] = got
		}
	}
	return out, wrong
}

func (f *Fetcher) one(ctx context.Context, seq session.Seq) (*Fetched, error) {
	if got := f.cache[seq]; got != nil {
		return got, nil
	}
	e, err := f.read(ctx, seq)
	if err != nil {
		return nil, err
	}
	got := f.index.understand(e)
	if c := &got.Change; c.Message != nil && c.Message.Kind == decode.SotwRequest && got.changesNames() {
		// What it adds and takes away is told from the request before.
		if before := f.index.RequestBefore(seq); before != 0 {
			if prev, err := f.read(ctx, before); err == nil {
				c.Added, c.Removed = difference(f.index.understand(prev).Change.Message, c.Message)
			}
		} else {
			c.Added = c.Message.Names
		}
	}
	f.met.meet(&got.Change)
	f.keep(seq, got)
	return got, nil
}

func (f *Fetched) changesNames() bool {
	words := append([]string{f.Change.What}, f.Change.Also...)
	return slices.Contains(words, engine.SUB) || slices.Contains(words, engine.UNSUB)
}

func difference(before, after *decode.Message) (added, removed []string) {
	if before == nil {
		return after.Names, nil
	}
	had := make(map[string]bool, len(before.Names))
	for _, n := range before.Names {
		had[n] = true
	}
	for _, n := range after.Names {
		if !had[n] {
			added = append(added, n)
		}
		delete(had, n)
	}
	for _, n := range before.Names {
		if had[n] {
			removed = append(removed, n)
		}
	}
	return added, removed
}

// takes is how many bytes the cache counts for an entry.
func (f *Fetched) takes() int64 {
	if m := f.Entry.Message; m != nil {
		return 1024 + m.Data.Len()
	}
	return 1024
}

func (f *Fetcher) keep(seq session.Seq, got *Fetched) {
	size := got.takes()
	if size > maxCached/4 {
		return
	}
	for f.bytes+size > maxCached {
		f.bytes -= f.cache[f.order[0]].takes()
		delete(f.cache, f.order[0])
		f.order = f.order[1:]
	}
	f.cache[seq] = got
	f.order = append(f.order, seq)
	f.bytes += size
}

// read reads one entry, which is near the one before more often than not.
func (f *Fetcher) read(ctx context.Context, seq session.Seq) (session.Entry, error) {
	if f.reader == nil {
		r, err := f.open()
		if err != nil {
			return session.Entry{}, err
		}
		r.Follow(false)
		f.reader, f.at = r, 0
	}
	if seq <= f.at || seq > f.at+stride {
		if err := f.reader.Seek(seq); err != nil {
			f.drop()
			return session.Entry{}, err
		}
		f.at = seq - 1
	}
	for {
		e, err := f.reader.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			f.at = session.Seq(^uint64(0)) // the next one is sought
			return e, errAbsent
		case err != nil:
			f.drop()
			return e, fmt.Errorf("cannot read it: %w", err)
		}
		if f.at = e.Seq; e.Seq == seq && !e.Carried {
			return e, nil
		}
		if e.Seq > seq {
			return e, errAbsent
		}
	}
}

func (f *Fetcher) drop() {
	_ = f.reader.Close()
	f.reader = nil
}

// understand says of an entry that was read alone what the index knows of it.
func (x *Index) understand(e session.Entry) *Fetched {
	x.mu.RLock()
	defer x.mu.RUnlock()
	got := &Fetched{Entry: e}
	c := &got.Change
	c.Types = x.types
	i := x.find(e.Seq)
	var r *Row
	if i < x.n && x.row(i).Seq == e.Seq {
		r = x.row(i)
	}
	at := uint32(0)
	if r != nil {
		at = r.place
	} else if known, ok := x.places.streams[e.Stream]; ok {
		at = known
	}
	p := &x.places.all[at]
	c.Method, c.Variant = p.method, p.method.Variant
	got.content = x.words.list[p.content[senderOf(e.Side)]]
	c.Client = x.words.list[x.places.clientAt(at)]
	if e.Held != nil {
		c.Method, c.Client = xds.Held(), e.Held.Node
	}
	if e.Kind == session.KindMessage && e.Message != nil && e.Message.Unread() == "" {
		m := decode.Peek(c.Method, e.Side, got.content, e.Message.Data.Bytes())
		if m.Kind != decode.Other {
			c.Message = &m
			c.Type = xds.ShortType(m.TypeURL)
			c.Added, c.Removed = m.Subscribe, m.Unsubscribe
			if m.Kind == decode.DeltaResponse {
				c.Added, c.Removed = nil, m.Removed
			}
		}
	}
	if r == nil {
		got.client = c.Client
		return got
	}
	c.Client, c.Type, c.What = x.clientOf(r), x.kinds.list[r.typ], r.What.String()
	for w := NACK; w <= DELTA; w++ {
		if r.Also(w) {
			c.Also = append(c.Also, w.String())
		}
	}
	if r.What == ACK || r.What == NACK {
		c.Answers, c.Waited = r.Partner(), r.Waited()
	}
	c.Uncertain, c.All = r.Flags&Uncertain != 0, r.Count == engine.Everything
	c.Accepted, c.None = r.had()
	return got
}
