package agree

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// The words for where a client stands with a resource.
const (
	isSent      = "SENT"
	isAccepted  = "ACKED"
	isRejected  = "NACKED"
	isUncertain = "UNCERTAIN"
)

// version is what a client was sent of a resource from one response on: a
// content, or that there is none any more.
type version struct {
	seq     session.Seq
	content content
	removed bool
	state   string
	pushes  int
	lane    *lane
	loose   bool // it was given up since, or sent on another stream: others may have let go of it
	unsure  bool
	refused bool // it came last in a response that was rejected, though it may have been accepted before
	passed  bool // it waits in a response that the client has passed over
}

// brought is a version that came with a response.
type brought struct {
	name    string
	version *version
	again   bool // the client had been sent it before
}

// bring enters the versions that come with a response.
func (w *world) bring(e *session.Entry, m *meaning, n *reply) {
	l := m.lane
	key := laneKey{l.client, l.typ}
	all := w.versions[key]
	if all == nil {
		all = make(map[string]*version)
		w.versions[key] = all
	}
	enter := func(name string, next version) {
		v := all[name]
		if v != nil && v.removed == next.removed && v.content == next.content {
			v.pushes++
			if v.state == isUncertain { // it is not answered yet
				v.state = isSent
			}
			v.loose, v.lane = v.loose || v.lane != l, l
			n.brought = append(n.brought, brought{name, v, true})
		} else {
			v = &next
			v.seq, v.state, v.pushes, v.lane = e.Seq, isSent, 1, l
			all[name] = v
			n.brought = append(n.brought, brought{name, v, false})
		}
		v.unsure = v.unsure || !m.sure || n.odd || w.crowded(key)
	}
	for name, c := range n.resources {
		enter(name, version{content: c})
	}
	for _, name := range n.removed {
		if _, is := n.resources[name]; !is {
			enter(name, version{removed: true})
		}
	}
	if n.delta || n.pulse || !wholeState(l.typ) {
		return
	}
	for name, v := range all {
		_, is := n.resources[name]
		if is || slices.Contains(n.heartbeats, name) {
			continue
		}
		if l.wants(name) {
			enter(name, version{removed: true})
		} else if !v.removed {
			v.loose = true
		}
	}
}

// settleVersions enters what a client said of what came with a response. What it
// has accepted it accepts still, when it comes again in a response that is
// rejected: that is for something else in it.
func (w *world) settleVersions(l *lane, of *reply) {
	for _, b := range of.brought {
		if of.mark == accepted || of.mark == rejected {
			b.version.refused = of.mark == rejected
		}
		switch {
		case of.mark == accepted:
			b.version.state = isAccepted
		case of.mark == rejected && b.version.state != isAccepted:
			b.version.state = isRejected
		case of.mark == unclear && b.version.state == isSent:
			b.version.state = isUncertain
		}
	}
	for _, n := range l.opens {
		for _, b := range n.brought {
			b.version.passed = b.version.passed || n.passed
		}
	}
}

// drop notes that a client gives up a name.
func (w *world) drop(l *lane, name string, wild bool) {
	key := laneKey{l.client, l.typ}
	if v := w.versions[key][name]; v != nil && !wild {
		v.loose = true
	}
	if !wild {
		h := w.holdingOf(key)
		h.dropped[name], h.droppedAt[name] = true, w.at
	}
}

func (w *world) holdingOf(key laneKey) *holding {
	h := w.held[key]
	if h == nil {
		h = &holding{resources: make(map[string]content), dropped: make(map[string]bool), droppedAt: make(map[string]session.Seq)}
		w.held[key] = h
	}
	return h
}

// anew takes from a client what it says on a new stream that it has not: in delta
// what it states no version of, in the state of the world everything if it
// states none.
func (w *world) anew(l *lane, p *decode.Message) {
	h := w.held[laneKey{l.client, l.typ}]
	if h == nil || l.rest {
		return
	}
	if p.Version != "" {
		for name := range h.resources {
			h.dropped[name] = h.dropped[name] || len(p.Names) > 0 && !slices.Contains(p.Names, name) && !slices.Contains(p.Names, "*")
		}
		return
	}
	stated := make(map[string]bool)
	for _, v := range p.InitialVersions {
		stated[decode.NormalName(v.Name)] = true
	}
	for name := range h.resources {
		delete(h.resources, name)
	}
	for name := range stated { // what was sent and not accepted it may have accepted unseen
		h.dropped[name] = true
	}
}

// holding is what a client accepted last of a type, by name.
type holding struct {
	resources map[string]content
	dropped   map[string]bool // given up: it may have them or not
	droppedAt map[string]session.Seq
	unsure    bool
}

// accept enters a response that was accepted.
func (w *world) accept(l *lane, of *reply) {
	key := laneKey{l.client, l.typ}
	h := w.holdingOf(key)
	h.unsure = h.unsure || l.muddled || !of.sure || !l.sure || of.odd || w.crowded(key)
	if !of.delta && !of.pulse && wholeState(l.typ) {
		for name := range h.resources {
			if _, is := of.resources[name]; !is && !slices.Contains(of.heartbeats, name) {
				delete(h.resources, name)
			}
		}
	}
	for name, c := range of.resources {
		h.resources[name] = c
		h.dropped[name] = !l.star && !l.wild && !l.names[name] || h.droppedAt[name] > of.seq
	}
	for _, name := range of.removed {
		if _, is := of.resources[name]; !is {
			delete(h.resources, name)
		}
	}
}
