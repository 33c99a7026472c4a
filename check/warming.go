package check

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// warmings are the clusters of a stream that wait for their endpoints, by the
// name of these. Several rules look at them; the first that does enters what
// an event changes.
type warmings struct {
	byName map[string]*warming
	seen   session.Seq // the event that was entered last
	began  bool        // whether clusters began to wait with it
}

// warming is a cluster that waits for its endpoints.
type warming struct {
	cluster string
	cds     *response
	from    session.Seq // what it waits from
	asked   bool        // the client wants the endpoints
	told    bool        // it was reported
}

// maxWarming bounds the clusters that are watched on one stream.
const maxWarming = 1 << 16

// warm enters a request or response, and says whether clusters whose endpoints
// the client asks for have begun to wait with it. gRPC's clients hold nothing
// back.
func (x *event) warm() bool {
	w := &x.talk.warming
	if w.seen == x.seq() {
		return w.began
	}
	w.seen, w.began = x.seq(), false
	if !x.talk.ads() || x.talk.grpcClient() {
		return false
	}
	switch {
	case x.sub.typ == "EDS" && len(w.byName) > 0 && x.resp != nil:
		w.warmed(x)
	case x.sub.typ == "EDS" && len(w.byName) > 0:
		for _, name := range x.req.added {
			if c := w.byName[name]; c != nil && !c.asked {
				c.asked, c.from, w.began = true, x.req.seq, true
			}
		}
	case x.sub.typ == "CDS" && x.resp != nil:
		w.begin(x)
	}
	return w.began
}

// warmed ends the waiting for what a response of endpoints mentions. It goes
// over the response or over what is waited for, whichever is less.
func (w *warmings) warmed(x *event) {
	n := x.resp
	if len(w.byName) < n.count && len(n.heartbeats) == 0 {
		for name := range w.byName {
			if it := x.sub.have.get(name); it != nil && it.stamp == x.k.stamp {
				delete(w.byName, name)
			}
		}
	} else {
		for i := range n.m.Resources {
			delete(w.byName, decode.NormalName(n.m.Resources[i].Name))
		}
	}
	for _, name := range n.m.Removed {
		delete(w.byName, decode.NormalName(name))
	}
	for i := range n.m.ResourceErrors {
		delete(w.byName, decode.NormalName(n.m.ResourceErrors[i].Name))
	}
}

// begin enters the clusters that a response adds or changes.
func (w *warmings) begin(x *event) {
	n := x.resp
	for _, it := range n.removed {
		for _, ref := range it.refs() {
			delete(w.byName, ref.Name)
		}
	}
	eds := x.talk.sub("EDS")
	enter := func(it *item) {
		for _, ref := range it.refs() {
			if ref.Type != "EDS" || ref.Source != decode.SourceADS || len(w.byName) >= maxWarming {
				continue
			}
			if w.byName == nil {
				w.byName = make(map[string]*warming)
			}
			c := &warming{cluster: it.name, cds: n, from: n.seq, asked: eds != nil && eds.wants(ref.Name)}
			w.began = w.began || c.asked
			w.byName[ref.Name] = c
		}
	}
	for _, it := range n.added {
		enter(it)
	}
	for i, it := range n.changed {
		if n.before[i].content != nil {
			enter(it)
		}
	}
}
