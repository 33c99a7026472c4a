package client

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/session"
)

// contents compares what the responses of one type on one stream said: each
// content of each resource, however it was cut into responses and in whatever
// order it came. It is not safe for concurrent use.
type contents struct {
	in     *inspect.Inspector
	full   bool // what a response does not have is gone
	hashes map[[32]byte][16]byte

	recorded, live map[string]holding
	expected       map[string][]*expectation
	last           map[string]*expectation // what stands at the end of the recording so far
	got            map[string][]content
	bytes          int // kept of contents that were not expected
}

const (
	maxHashes    = 1 << 16
	maxGot       = 64 << 20 // bytes kept for an explanation
	maxSameNames = 1 << 12  // contents of one name
	maxItems     = 1 << 20  // names of one type on one stream
)

// holding is what a name stands for at one time.
type holding struct {
	hash [16]byte
	gone bool
}

// content is one that the live server sent.
type content struct {
	holding
	typeURL string
	body    []byte // nil if there was no room
}

// expectation is a content that the recording has.
type expectation struct {
	holding
	seq      session.Seq // of the response that brought it
	response int         // its number among those of the type
	masked   bool        // there are masks in the response
}

// item is a resource of a response, or the absence of one.
type item struct {
	name string
	holding
	typeURL string
	body    []byte
}

func newContents(in *inspect.Inspector, full bool) *contents {
	return &contents{
		in: in, full: full, hashes: map[[32]byte][16]byte{},
		recorded: map[string]holding{}, live: map[string]holding{},
		expected: map[string][]*expectation{}, last: map[string]*expectation{}, got: map[string][]content{},
	}
}

// items are what a response says that was not so before.
func (c *contents) items(m *decode.Message, before map[string]holding) []item {
	var out []item
	here := map[string]bool{}
	for i := range m.Resources {
		r := &m.Resources[i]
		name := r.Name + r.Constraints
		if name == "" {
			name = fmt.Sprintf("#%d", i) // one without a name is known by its place
		}
		here[name] = true
		if r.Empty {
			continue // a heartbeat
		}
		h := holding{hash: c.hash(r.TypeURL, r.Body)}
		if b, is := before[name]; !is || b != h {
			out = append(out, item{name: name, holding: h, typeURL: r.TypeURL, body: r.Body})
		}
	}
	for _, n := range m.Removed {
		if b, is := before[n]; !here[n] && (!is || !b.gone) {
			out = append(out, item{name: n, holding: holding{gone: true}})
		}
	}
	pulse := len(m.Resources) > 0 && !slices.ContainsFunc(m.Resources, func(r decode.Resource) bool { return !r.Empty })
	if c.full && !pulse { // which only prolongs what there is
		for n, b := range before {
			if !here[n] && !b.gone {
				out = append(out, item{name: n, holding: holding{gone: true}})
			}
		}
	}
	return out
}

// hash is that of a content, whatever the order in which it is encoded.
func (c *contents) hash(typeURL string, body []byte) [16]byte {
	h := sha256.New()
	h.Write([]byte(typeURL))
	h.Write([]byte{0})
	h.Write(body)
	var key [32]byte
	h.Sum(key[:0])
	if have, is := c.hashes[key]; is {
		return have
	}
	sum := c.in.Inspect(typeURL, body, true).Hash
	if len(c.hashes) < maxHashes {
		c.hashes[key] = sum
	}
	return sum
}

// expect takes the next response of the recording and returns what it brings.
func (c *contents) expect(seq session.Seq, n int, masked bool, m *decode.Message) []item {
	items := c.items(m, c.recorded)
	for _, it := range items {
		c.recorded[it.name] = it.holding
		c.last[it.name] = &expectation{it.holding, seq, n, masked}
		if have := c.expected[it.name]; len(have) < maxSameNames && !slices.ContainsFunc(have, func(e *expectation) bool { return e.holding == it.holding }) {
			c.expected[it.name] = append(have, c.last[it.name])
		}
	}
	return items
}

// receive takes a response of the live server and returns what it brings.
func (c *contents) receive(m *decode.Message) []item {
	items := c.items(m, c.live)
	for _, it := range items {
		have, is := c.got[it.name]
		if !is && len(c.got) >= maxItems {
			continue // what differs is known by now
		}
		c.live[it.name] = it.holding
		if len(have) >= maxSameNames || slices.ContainsFunc(have, func(g content) bool { return g.holding == it.holding }) {
			continue
		}
		g := content{holding: it.holding, typeURL: it.typeURL}
		if !c.known(it) && c.bytes+len(it.body) <= maxGot {
			c.bytes += len(it.body)
			g.body = slices.Clone(it.body)
		}
		c.got[it.name] = append(have, g)
	}
	return items
}

// known says whether the recording has had this content so far.
func (c *contents) known(it item) bool {
	return slices.ContainsFunc(c.expected[it.name], func(e *expectation) bool { return e.holding == it.holding })
}

func (c *contents) came(name string, h holding) bool {
	return slices.ContainsFunc(c.got[name], func(g content) bool { return g.holding == h })
}

// all says whether everything that is expected so far has come. For a content
// with masks any other one stands, until they are compared.
func (c *contents) all() bool {
	for name, list := range c.expected {
		others := 0
		for _, g := range c.got[name] {
			if !c.known(item{name: name, holding: g.holding}) {
				others++
			}
		}
		for _, e := range list {
			switch {
			case c.came(name, e.holding):
			case e.masked && others > 0:
				others--
			default:
				return false
			}
		}
	}
	return true
}

// lapsed are the names of which what stands at the end of the recording so far has come,
// and does not stand any more, sorted: of these the order does matter. What has masks is
// never the same, and is left out.
func (c *contents) lapsed() (names []string) {
	for name, e := range c.last {
		if live, is := c.live[name]; is && live != e.holding && !e.masked && c.came(name, e.holding) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// every says whether of each name that is expected something has come.
func (c *contents) every() bool {
	for name := range c.expected {
		if len(c.got[name]) == 0 {
			return false
		}
	}
	return true
}

// mismatch is something that differs: what was expected without what came, the
// other way round, or both.
type mismatch struct {
	name     string
	expected *expectation
	got      *content
}

// mismatches pairs what did not come with what came unexpectedly.
func (c *contents) mismatches() []mismatch {
	names := map[string]bool{}
	for n := range c.expected {
		names[n] = true
	}
	for n := range c.got {
		names[n] = true
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	var out []mismatch
	for _, n := range sorted {
		var extra []*content
		for i := range c.got[n] {
			if g := &c.got[n][i]; !c.known(item{name: n, holding: g.holding}) {
				extra = append(extra, g)
			}
		}
		for _, e := range c.expected[n] {
			if c.came(n, e.holding) {
				continue
			}
			m := mismatch{name: n, expected: e}
			for i, g := range extra {
				if g.gone == e.gone {
					m.got = g
					extra = slices.Delete(extra, i, i+1)
					break
				}
			}
			out = append(out, m)
		}
		for _, g := range extra {
			out = append(out, mismatch{name: n, got: g})
		}
	}
	return out
}
