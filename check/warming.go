package check

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// warmings are the clusters of a stream that wait for their endpoints, by the
// name of these. Several rules look at them; the first that does enters what
// an event changes.
type warmings struct {
	byName map[string]*warming
	// early are the clusters of responses that came before the client asked
	// for any endpoints. They are not entered one by one before it does: a
	// client that has its endpoints from elsewhere never asks.
	early []early
	seen  session.Seq // the event that was entered last
	began bool        // whether clusters began to wait with it
}

// warming is a cluster that waits for its endpoints.
type warming struct {
	name    string // of the endpoints
	cluster string
	cds     *engine.Response
	from    session.Seq // what it waits from
	asked   bool        // the client wants the endpoints
	told    bool        // it was reported
	was     *warming    // what it waited for before cds, in case that is rejected
	owed    bool        // it asked for them when the cluster was another, and has none yet
	patient bool        // the client was told to wait for long
}

// awaited says whether the client asks for the endpoints because of the cluster.
// If it did not have to ask, because it has them of the cluster as it was, a
// state-of-the-world client names them once more. In delta nothing tells; but
// unless it was told to wait for long, it goes on without them.
func (c *warming) awaited(x *event, eds *engine.Subscription) bool {
	switch {
	case !eds.Wants(c.name):
		return false
	case c.owed, c.from != c.cds.Seq:
		return true
	case eds.Stream.Delta():
		return c.patient || x.now.Sub(c.cds.At) <= x.k.timers.DNE
	}
	return eds.Last != nil && eds.Last.Seq > c.cds.Seq
}

// early is what one response added or changed; the items are those of others.
type early struct {
	cds   *engine.Response
	items []*engine.Resource
}

// maxEarly bounds the responses that are remembered so; the oldest go first.
const maxEarly = 8

// maxWarming bounds the clusters that are watched on one stream.
const maxWarming = 1 << 16

// warm enters a request or response, and says whether clusters whose endpoints
// the client asks for have begun to wait with it. gRPC's clients hold nothing
// back.
func (x *event) warm() bool {
	w := warmingOf(x.stream)
	if w.seen == x.seq() {
		return w.began
	}
	w.seen, w.began = x.seq(), false
	if !x.stream.ADS() || x.stream.GRPCClient() {
		return false
	}
	if x.sub.Type == "EDS" && len(w.early) > 0 {
		w.enterEarly(x)
	}
	switch {
	case x.sub.Type == "EDS" && len(w.byName) > 0 && x.resp != nil:
		w.warmed(x)
	case x.sub.Type == "EDS" && len(w.byName) > 0:
		for _, name := range x.req.Added {
			if c := w.byName[name]; c != nil && !c.asked {
				c.asked, c.from, w.began = true, x.req.Seq, true
			}
		}
	case x.sub.Type == "CDS" && x.resp != nil:
		w.begin(x)
	case x.sub.Type == "CDS" && x.req.Verdict == engine.NACKed:
		w.rejected(x)
	}
	return w.began
}

// warmed ends the waiting for what a response of endpoints mentions. It goes
// over the response or over what is waited for, whichever is less.
func (w *warmings) warmed(x *event) {
	n := x.resp
	if len(w.byName) < n.Count && len(n.Heartbeats) == 0 {
		for name := range w.byName {
			if it := x.sub.Have.Get(name); it != nil && it.Stamp == x.k.Stamp {
				delete(w.byName, name)
			}
		}
	} else {
		for i := range n.Message.Resources {
			delete(w.byName, decode.NormalName(n.Message.Resources[i].Name))
		}
	}
	for _, name := range n.Message.Removed {
		delete(w.byName, decode.NormalName(name))
	}
	for i := range n.Message.ResourceErrors {
		delete(w.byName, decode.NormalName(n.Message.ResourceErrors[i].Name))
	}
}

// begin enters the clusters that a response adds to what the client has, or changes.
func (w *warmings) begin(x *event) {
	n := x.resp
	for _, it := range n.Removed {
		for _, ref := range it.Refs() {
			delete(w.byName, ref.Name)
		}
	}
	began := x.sub.Renewed(n)
	if len(began) == 0 {
		return
	}
	eds := x.stream.Sub("EDS")
	if eds == nil {
		w.early = keepLast(w.early, early{n, began}, maxEarly)
		return
	}
	for _, it := range began {
		w.enter(it, n, eds)
	}
}

// rejected takes back what a rejected response began, and what a later one began
// that only brought back what the client had before. What of a rejected response
// the client uses all the same is not known.
func (w *warmings) rejected(x *event) {
	bad := x.req.Echoed
	for name, c := range w.byName {
		if c.cds != bad && (c.cds.Ordinal < bad.Ordinal || x.sub.Renews(c.cds, x.sub.Have.Get(c.cluster))) {
			continue
		}
		if c.was != nil && c.was.cds != bad {
			w.byName[name] = c.was
		} else {
			delete(w.byName, name)
		}
	}
}

// enterEarly enters what waits since before the client asked for endpoints, if
// it is still as it was.
func (w *warmings) enterEarly(x *event) {
	cds := x.stream.Sub("CDS")
	for _, e := range w.early {
		if e.cds.Verdict == engine.NACKed {
			continue
		}
		for _, it := range e.items {
			if cds != nil && cds.Have.Get(it.Name) == it {
				w.enter(it, e.cds, nil) // what is asked for now comes next
			}
		}
	}
	w.early = nil
}

// enter begins to wait for the endpoints of a cluster.
func (w *warmings) enter(it *engine.Resource, cds *engine.Response, eds *engine.Subscription) {
	for _, ref := range it.Refs() {
		if ref.Type != "EDS" || ref.Source != inspect.SourceADS || len(w.byName) >= maxWarming {
			continue
		}
		c := &warming{
			name: ref.Name, cluster: it.Name, cds: cds, from: cds.Seq, asked: eds != nil && eds.Wants(ref.Name),
			patient: it.Content.Facts.Patient, was: w.byName[ref.Name],
		}
		if c.was != nil {
			c.owed = c.was.owed || c.was.from != c.was.cds.Seq
			c.was.was = nil
		}
		w.began = w.began || c.asked
		put(&w.byName, ref.Name, c)
	}
}
