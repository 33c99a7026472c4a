package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// truth is what happened at a proxy, counted by who made it happen: nothing of it is
// read from the recording.
type truth struct {
	entries, messages   int
	messageBytes, bytes int64
	responses           map[string]int
	latencies           map[string][]int64 // microseconds, by type
	sent                map[fact]time.Time // contents, to whom, when first
	accepted, rejected  map[fact]time.Time
	versions            map[held]time.Time // since when a client runs a version
	runs                map[held]string    // without a version: the one it runs last
	loops               map[held]loop      // rejections, where version is the reason
	editions            map[held]time.Time // when a version was sent first to clients of a role, which is in client
	sends               map[string]int     // endpoints that were new on a stream, by name
	certificates        map[held]time.Time // the newest, where version is the name
	nameless            [][]any
	reasons             map[fact]string
	faults              map[string][]where
}

// fact is a content and a client.
type fact struct {
	typ, name, content string
	size               int
	cluster, client    string
}

// held is what a client has of a type.
type held struct{ cluster, client, typ, version string }

// loop is how often something was rejected, and when.
type loop struct {
	times       int
	from, until time.Time
}

func newTruth() *truth {
	return &truth{
		responses: make(map[string]int), latencies: make(map[string][]int64), sent: make(map[fact]time.Time), accepted: make(map[fact]time.Time),
		rejected: make(map[fact]time.Time), versions: make(map[held]time.Time), runs: make(map[held]string), loops: make(map[held]loop), editions: make(map[held]time.Time), sends: make(map[string]int), certificates: make(map[held]time.Time),
		reasons: make(map[fact]string), faults: make(map[string][]where),
	}
}

func (t *truth) message(size int) {
	t.messages++
	t.messageBytes += int64(size)
}

func (t *truth) archived(s recorder.Stats) { t.bytes += s.Bytes }

func (t *truth) fault(p *proxy, id string, c *client) {
	at := where{Cluster: p.cluster, Proxy: p.name}
	if c != nil {
		at.Client = c.id()
	}
	t.faults[id] = append(t.faults[id], at)
}

func (c *client) fact(r *response, name string) fact {
	a := c.p.content(r.typ, name, c.of, r.revs[name])
	h := sha256.New()
	h.Write([]byte(a.TypeUrl))
	h.Write([]byte{0})
	h.Write(a.Value)
	if r.typ == "SDS" { // each recording has masks of its own
		h.Write([]byte(c.p.path))
	}
	return fact{r.typ, name, hex.EncodeToString(h.Sum(nil)), len(a.Value), c.p.cluster, c.who()}
}

// who is how a client is counted: one that does not say who it is by its connection.
func (c *client) who() string {
	if c.node == nil {
		return fmt.Sprintf("%s %d", c.p.name, c.conn)
	}
	return c.id()
}

// response is one that was sent. What the client was sent before is nothing new, also
// if it has connected anew since: it says that it has it.
func (t *truth) response(c *client, r *response) {
	t.responses[r.typ]++
	role, _, _ := strings.Cut(c.id(), "~")
	first(t.editions, held{client: role, typ: r.typ, version: r.version}, r.at.Add(c.p.skew))
	r.fresh = nil
	for _, name := range r.names {
		if rev, was := c.shown[change{track{typ: r.typ}, name}]; was && rev == r.revs[name] {
			continue
		}
		c.shown[change{track{typ: r.typ}, name}] = r.revs[name]
		f := c.fact(r, name)
		r.fresh = append(r.fresh, f)
		if r.typ == "EDS" {
			t.sends[name]++
		}
		if r.typ == "SDS" {
			t.certificates[held{c.p.cluster, c.id(), "SDS", name}] = c.p.notAfter(name, r.revs[name])
		}
		first(t.sent, f, r.at.Add(c.p.skew))
	}
}

func first[K comparable](m map[K]time.Time, k K, at time.Time) {
	if old, is := m[k]; !is || at.Before(old) {
		m[k] = at
	}
}

// answer is the verdict of a client; without a reason it accepts.
func (t *truth) answer(c *client, r *response, at time.Time, reason string) {
	t.latencies[r.typ] = append(t.latencies[r.typ], at.Sub(r.at).Microseconds())
	at = at.Add(c.p.skew)
	if reason != "" {
		k := held{c.p.cluster, c.id(), r.typ, reason}
		l := t.loops[k]
		if l.times++; l.times == 1 {
			l.from = at
		}
		l.until = at
		t.loops[k] = l
		for _, f := range r.fresh {
			first(t.rejected, f, at)
			t.reasons[f] = reason
		}
		return
	}
	for _, f := range r.fresh {
		first(t.accepted, f, at)
	}
	first(t.versions, held{c.p.cluster, c.id(), r.typ, r.version}, at)
	t.runs[held{c.p.cluster, c.id(), r.typ, ""}] = r.version
}

// where is a client at a proxy.
type where struct {
	Cluster string `json:"cluster"`
	Proxy   string `json:"proxy"`
	Client  string `json:"client,omitempty"`
}

// sortedKeys are the keys of a map, in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
