// Package history collects the versions that clients were sent of one resource, and what
// they said of each. What it means is for package engine to say.
package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Selection names a resource.
type Selection struct {
	Client string // node id; "" for every client
	Type   string // short, as in engine.Change; "" for every type
	Name   string // all of it, but xdstp names may be written in another way
}

// Version is what a client was sent of a resource from one response on: a
// content, or that there is none any more.
type Version struct {
	Client, Type string
	TypeURL      string // of the payload
	Seq          session.Seq
	Time         time.Time
	Conn         session.ConnID
	Stream       session.StreamID
	Version      string // of the resource, or else of the response
	Nonce        string // of the response
	With         int    // other resources in the response
	Removed      bool   // there is no content: the server says so, or a full state lacks it
	// Hash is equal for equal content, however it is encoded; zero if Removed.
	Hash [16]byte
	Size int // bytes of the content

	// State is Sent until the client answers, then Acked or Rejected. A
	// content that was accepted stays so when it comes again in a response that
	// is rejected: that is for something else in it.
	State    engine.ResourceState
	Judged   session.Seq // the request that accepts or rejects it
	JudgedAt time.Time
	Reason   string // of a rejection
	// Pushes is how often it was sent in a row, and Last when it was last.
	Pushes     int
	Last       session.Seq
	Heartbeats int  // that prolonged it
	Uncertain  bool // part of the stream was not seen when it came
}

// History collects the versions of a resource. It must be given every entry
// and what an Engine says of it, in order. It keeps numbers and
// hashes, no contents, and of those a bounded number: engine.Change.Resource finds the
// content of a version in the entry that it came with.
type History struct {
	of        Selection
	normal    string
	inspector *inspect.Inspector
	hashes    map[rawHash][16]byte // of contents met lately
	versions  []*Version           // oldest first
	forgotten int
	beyond    int  // pushes to clients that are too many
	allLive   bool // no holding is over
	holdings  map[clientType]*holding
	open      map[session.Seq]pushed // responses without an answer
	order     []session.Seq          // of open, oldest first
}

// holding is the resource as one client has it.
type holding struct {
	last *Version
	// The stream that last said something of the resource, and whether it is over:
	// absence on another one deletes only then.
	conn session.ConnID
	on   session.StreamID
	over bool
}

type clientType struct{ client, typ string }

// pushed is what a response without an answer brought.
type pushed struct {
	version *Version
	again   bool // that the client had
}

const (
	maxVersions = 1 << 16 // that a History keeps
	maxHoldings = 1 << 16
	maxUnjudged = 1 << 14 // responses that wait for their answer
	maxHashes   = 1 << 12
)

// New returns a History of a resource that has seen nothing. Types are those
// beside the linked ones; may be nil.
func New(of Selection, types *descriptors.Types) *History {
	return &History{
		of: of, normal: decode.NormalName(of.Name), inspector: inspect.New(types), hashes: make(map[rawHash][16]byte),
		holdings: make(map[clientType]*holding), open: make(map[session.Seq]pushed),
	}
}

// Versions are those of all clients and types that were selected, in the order
// in which they came. The oldest are forgotten if they are very many.
func (h *History) Versions() []Version {
	out := make([]Version, len(h.versions))
	for i, v := range h.versions {
		out[i] = *v
	}
	return out
}

// Newest is the version that came last, of whichever client.
func (h *History) Newest() (Version, bool) {
	if len(h.versions) == 0 {
		return Version{}, false
	}
	return *h.versions[len(h.versions)-1], true
}

// Forgotten is how many versions were forgotten.
func (h *History) Forgotten() int { return h.forgotten }

// Beyond is how many pushes went to more clients than are followed at once: what they
// brought is in no version.
func (h *History) Beyond() int { return h.beyond }

// Step takes the next entry and what it changed.
func (h *History) Step(e *session.Entry, c *engine.Change) {
	m := c.Message
	if c.Ended || e.Kind == session.KindDisconnect {
		for _, l := range h.holdings {
			l.over = l.over || c.Ended && l.on == e.Stream || e.Kind == session.KindDisconnect && l.conn == e.Conn
		}
		h.allLive = false
	}
	if m == nil || h.of.Client != "" && c.Client != h.of.Client || h.of.Type != "" && c.Type != h.of.Type {
		return
	}
	switch {
	case m.Request():
		h.judge(e, c)
	case m.Response():
		h.response(e, c)
	}
}

// judge enters what a request says of a response.
func (h *History) judge(e *session.Entry, c *engine.Change) {
	if r := c.Request; r != nil && r.Overrules != 0 {
		for _, v := range h.versions {
			if v.Judged == r.Overrules && v.State == engine.Acked {
				v.State, v.Judged, v.JudgedAt, v.Reason = engine.Uncertain, e.Seq, e.Time, engine.Reason(c.Message.Error.Message)
			}
		}
		return
	}
	if r := c.Request; r != nil && r.Verdict == engine.Unclear {
		if p, ok := h.open[r.Echoed.Seq]; ok && p.version.State == engine.Sent {
			p.version.State, p.version.Judged, p.version.JudgedAt = engine.Uncertain, e.Seq, e.Time
		}
		return
	}
	p, ok := h.open[c.Answers]
	if !ok || c.Answers == 0 {
		return
	}
	delete(h.open, c.Answers)
	v := p.version
	if c.What != engine.NACK {
		if v.State != engine.Acked {
			v.State, v.Judged, v.JudgedAt, v.Reason = engine.Acked, e.Seq, e.Time, ""
		}
		return
	}
	if v.State == engine.Acked {
		return
	}
	v.State, v.Judged, v.JudgedAt = engine.Rejected, e.Seq, e.Time
	if c.Message.Error != nil {
		v.Reason = engine.Reason(c.Message.Error.Message)
	}
}

func (h *History) response(e *session.Entry, c *engine.Change) {
	key := clientType{c.Client, c.Type}
	l, m := h.holdings[key], c.Message
	r := c.Resource(h.of.Name)
	switch {
	case r == nil:
		if h.lacks(e, c, l) {
			h.removed(e, c, l, key)
		}
		return
	case r.Empty:
		if l != nil && !l.last.Removed {
			l.last.Heartbeats++
		}
		return
	}
	if l == nil {
		if l = h.newHolding(key); l == nil {
			return
		}
	}
	l.conn, l.on, l.over = e.Conn, e.Stream, false
	hash := h.hashOf(rawHashOf(r), r, e.Message.Masked)
	if v := l.last; v != nil && !v.Removed && v.Hash == hash && v.TypeURL == r.TypeURL {
		v.Pushes++
		v.Last = e.Seq
		if v.State == engine.Uncertain {
			v.State = engine.Sent
		}
		h.await(e.Seq, pushed{v, true})
		return
	}
	v := h.version(e, c, l, key)
	v.TypeURL, v.Hash, v.Size, v.With = r.TypeURL, hash, len(r.Body), len(m.Resources)-1
	if r.Version != "" {
		v.Version = r.Version
	}
}

// lacks says whether a response says that the resource is not there.
func (h *History) lacks(e *session.Entry, c *engine.Change, l *holding) bool {
	m := c.Message
	if m.Kind == decode.DeltaResponse {
		return slices.ContainsFunc(m.Removed, func(name string) bool {
			return name == h.of.Name || strings.HasPrefix(name, "xdstp:") && decode.NormalName(name) == h.normal
		})
	}
	// Absence says so where a response has all there is.
	if l == nil || !l.over && l.on != e.Stream || c.Sub == nil || !c.Sub.Whole() || !c.Sub.Wants(h.normal) && !c.Sub.Asks(h.normal) || len(m.Problems) > 0 {
		return false
	}
	return len(m.Resources) == 0 || slices.ContainsFunc(m.Resources, func(r decode.Resource) bool { return !r.Empty })
}

func (h *History) removed(e *session.Entry, c *engine.Change, l *holding, key clientType) {
	if l == nil {
		if l = h.newHolding(key); l == nil {
			return
		}
	}
	l.conn, l.on, l.over = e.Conn, e.Stream, false
	if v := l.last; v != nil && v.Removed {
		v.Pushes++
		v.Last = e.Seq
		h.await(e.Seq, pushed{v, true})
		return
	}
	v := h.version(e, c, l, key)
	v.Removed, v.With = true, len(c.Message.Resources)
}

func (h *History) newHolding(key clientType) *holding {
	if len(h.holdings) >= maxHoldings && !h.makeRoom() {
		h.beyond++
		return nil
	}
	l := &holding{}
	h.holdings[key] = l
	return l
}

// makeRoom lets go of an eighth of the holdings of which the stream is over, those that
// were sent something longest ago. Who comes back begins anew.
func (h *History) makeRoom() bool {
	if h.allLive {
		return false
	}
	var over []clientType
	for key, l := range h.holdings {
		if l.over {
			over = append(over, key)
		}
	}
	slices.SortFunc(over, func(a, b clientType) int { return cmp.Compare(h.holdings[a].last.Last, h.holdings[b].last.Last) })
	for _, key := range over[:(len(over)+7)/8] {
		delete(h.holdings, key)
	}
	h.allLive = len(over) == 0
	return !h.allLive
}

// version begins the next version of a holding.
func (h *History) version(e *session.Entry, c *engine.Change, l *holding, key clientType) *Version {
	m := c.Message
	v := &Version{
		Client: key.client, Type: key.typ, Seq: e.Seq, Time: e.Time, Conn: e.Conn, Stream: e.Stream,
		Version: m.Version, Nonce: m.Nonce, State: engine.Sent, Pushes: 1, Last: e.Seq, Uncertain: c.Uncertain,
	}
	if len(h.versions) >= maxVersions {
		h.forgotten += maxVersions / 8
		h.versions = slices.Delete(h.versions, 0, maxVersions/8)
	}
	h.versions = append(h.versions, v)
	l.last = v
	h.await(e.Seq, pushed{v, false})
	return v
}

// await remembers a response until it is answered.
func (h *History) await(seq session.Seq, p pushed) {
	h.open[seq] = p
	h.order = append(h.order, seq)
	if len(h.order) >= 2*maxUnjudged {
		h.order = slices.DeleteFunc(h.order, func(s session.Seq) bool { _, open := h.open[s]; return !open })
		for len(h.order) > maxUnjudged {
			delete(h.open, h.order[0])
			h.order = h.order[1:]
		}
	}
}
