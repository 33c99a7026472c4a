package agree

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// request enters what a client says.
func (w *world) request(e *session.Entry, m *meaning) {
	l, p := m.lane, m.message
	m.first, m.firstOrNot = !l.asked, l.askedAgain
	l.askedAgain, l.announced = false, p.Version
	if !l.asked {
		l.asked, l.askedSeq = true, e.Seq
		l.stated = len(p.InitialVersions) > 0
		w.anew(l, p)
	}
	var of *reply
	m.word, of = l.judge(p)
	if m.word != "" {
		m.answers, m.unseen = of, of == nil
	}
	switch m.word {
	case engine.NACK:
		l.nacks++
		l.why, l.nackSeq = p.Error.Message, e.Seq
		if of != nil {
			of.why, of.nackSeq = l.why, e.Seq
			if l.bad == nil || of.ordinal > l.bad.ordinal && !l.outlasts(of) {
				l.bad = of
			}
			l.seenNACKs++
		}
	case engine.ACK:
		l.muddled = l.good != nil && l.good.ordinal > of.ordinal
		if !l.muddled {
			l.good = of
		}
		if !l.outlasts(of) {
			l.nacks = 0
			if l.bad != nil && l.bad.ordinal <= of.ordinal {
				l.bad = nil
			}
		}
	}
	if of != nil {
		m.again = of.again
		of.judgedAt = e.Seq
		if of.flipped { // nobody knows what the client has now
			key := laneKey{l.client, l.typ}
			w.holdingOf(key).unsure = true
			for _, v := range w.versions[key] {
				v.unsure = true
			}
		}
		// On a stream of the state of the world a verdict on what was passed over
		// says little of what the client has now.
		of.odd = of.odd || of.passed
		for _, b := range of.brought {
			b.version.unsure = b.version.unsure || of.passed
		}
		l.settle(of)
		w.settleVersions(l, of)
		if of.mark == accepted {
			w.accept(l, of)
		}
	}
	if p.Kind == decode.DeltaRequest {
		w.wantDelta(m)
	} else {
		w.wantSotw(m)
	}
}

// settle takes a response off those that wait. In the state of the world a
// client that accepts one has passed over those before it.
func (l *lane) settle(of *reply) {
	l.opens = slices.DeleteFunc(l.opens, func(n *reply) bool { return n == of })
	if of.mark == accepted && !of.delta {
		for _, n := range l.opens {
			n.passed = n.passed || n.ordinal < of.ordinal
		}
	}
}

// wantSotw enters the whole list of what a client asks for.
func (w *world) wantSotw(m *meaning) {
	l, list := m.lane, make(map[string]bool)
	star := false
	for _, n := range m.message.Names {
		star = star || n == "*"
		if n != "*" && n != "" {
			list[decode.NormalName(n)] = true
		}
	}
	for n := range list {
		m.more = m.more || !l.names[n]
		m.respelled = m.respelled || strings.HasPrefix(n, "xdstp:")
	}
	for n := range l.names {
		if !list[n] {
			m.less = true
			w.drop(l, n, star)
		}
	}
	m.more, m.less = m.more || star && !l.star, m.less || !star && l.star
	all := l.star || len(l.names) == 0
	l.named = l.named || len(m.message.Names) > 0
	l.star, l.names = star, list
	l.wild = star || len(list) == 0 && !l.named && wholeState(l.typ)
	if all {
		w.sweep(l)
	}
}

// wantDelta enters what a client asks for beside the rest, and what it gives up.
func (w *world) wantDelta(m *meaning) {
	l, p := m.lane, m.message
	m.more, m.less = len(p.Subscribe) > 0, len(p.Unsubscribe) > 0
	if m.first && len(p.Subscribe) == 0 && (p.Nonce == "" || l.sure) {
		l.wild = true
	}
	for _, n := range p.Subscribe {
		if n == "*" {
			l.wild = true
		} else if n != "" {
			l.names[decode.NormalName(n)] = true
		}
	}
	all := l.wild
	l.wild = l.wild && !slices.Contains(p.Unsubscribe, "*")
	for _, n := range p.Unsubscribe {
		if n = decode.NormalName(n); l.names[n] {
			delete(l.names, n)
			w.drop(l, n, l.wild)
			all = all || strings.HasSuffix(n, "/*") || strings.Contains(n, "/*?")
		}
	}
	if all {
		w.sweep(l)
	}
}

// sweep notes that a client drops what it had for everything, or a collection, that
// it asked for no longer.
func (w *world) sweep(l *lane) {
	key := laneKey{l.client, l.typ}
	for _, names := range []iter.Seq[string]{maps.Keys(w.versions[key]), maps.Keys(w.holdingOf(key).resources)} {
		for name := range names {
			if !l.wants(name) {
				w.drop(l, name, false)
			}
		}
	}
}

// wants says whether a client asks for a name, or for a collection that it is in.
func (l *lane) wants(name string) bool {
	return l.wild || l.names[name] || l.names[collection(name)]
}

// collection is the glob that a normal xdstp name falls under: its last part
// replaced by "*". Other names have none.
func collection(name string) string {
	rest, ok := strings.CutPrefix(name, "xdstp://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, rest, slash := strings.Cut(rest, "/")
	typ, id, _ := strings.Cut(rest, "/")
	if !ok || !slash || typ == "" {
		return ""
	}
	glob := "xdstp://" + authority + "/" + typ + "/" + id[:strings.LastIndexByte(id, '/')+1] + "*"
	if query != "" {
		glob += "?" + query
	}
	return glob
}

func TestCollection(t *testing.T) {
	for name, want := range map[string]string{
		"xdstp://a/T/x":           "xdstp://a/T/*",
		"xdstp://a/T/g/h/x?a=1/2": "xdstp://a/T/g/h/*?a=1/2",
		"xdstp://a/T":             "xdstp://a/T/*",
		"a/b/c":                   "",
		"xdstp://a":               "",
	} {
		if got := collection(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// response enters what a server says.
func (w *world) response(e *session.Entry, m *meaning) {
	l, p := m.lane, m.message
	n := &reply{
		seq: e.Seq, at: w.now, nonce: p.Nonce, version: p.Version, delta: p.Kind == decode.DeltaResponse,
		resources: make(map[string]content), sure: m.sure,
	}
	m.reply = n
	var parts []string
	for i := range p.Resources {
		r := &p.Resources[i]
		name := decode.NormalName(r.Name)
		if r.Empty {
			n.heartbeats = append(n.heartbeats, name)
			continue
		}
		if _, twice := n.resources[name]; twice || name == "" || r.Constraints != "" {
			n.odd = true
		}
		c := w.contentOf(r, e.Message.Masked)
		n.resources[name] = c
		parts = append(parts, name+"\x00"+c.typeURL+"\x00"+string(c.hash[:]))
	}
	for _, name := range p.Removed {
		name = decode.NormalName(name)
		_, both := n.resources[name]
		n.odd = n.odd || both || slices.Contains(n.heartbeats, name) || slices.Contains(n.removed, name)
		n.removed = append(n.removed, name)
		parts = append(parts, "-"+name)
	}
	n.pulse = len(p.Resources) > 0 && len(n.heartbeats) == len(p.Resources)
	slices.Sort(parts)
	n.sum = strings.Join(parts, "\x01")
	n.follow(l.last)
	l.last = n
	if !n.pulse {
		l.told = n
	}
	if n.nonce != "" {
		l.byNonce[n.nonce] = n
	}
	l.opens = append(l.opens, n)
	w.bring(e, m, n)
}

// contentOf tells contents apart by what they mean.
func (w *world) contentOf(r *decode.Resource, masked bool) content {
	key := r.TypeURL + "\x00" + string(r.Body)
	h, known := w.hashes[key]
	if !known {
		h = w.inspector.Inspect(r.TypeURL, r.Body, masked).Hash
		w.hashes[key] = h
	}
	return content{r.TypeURL, h}
}

// content is equal for equal contents.
type content struct {
	typeURL string
	hash    [16]byte
}
