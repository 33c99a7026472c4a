package effect

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// item is one thing that a client says of a resource.
type item struct {
	state   configdump.State
	typeURL string
	hash    [16]byte
	body    *body  // nil where none is needed, or there is none
	unread  string // why the content is not all there
	error   string
	refs    []string // "TYPE NAME": what it needs, of what is warming
	empty   bool     // endpoints, and none
	version bool     // it has one
	like    *content // that it is
	unlike  *content // that it is not
}

const (
	maxSources = 16 // of one client
	maxItems   = 64 // of one resource
	maxRefs    = 256
)

// lostSince is why nothing can be told of a client after a gap.
const lostSince = "entries were lost since it said all that it holds"

// torn is what a gap does: what clients said that they hold may have been in it, and nothing
// is known until they say all of it again.
func (a *Account) torn(k *engine.Engine) {
	for _, cl := range a.clients {
		known := false
		for i := range cl.asked {
			if s := &cl.asked[i]; s.Failed == "" && s.Read.Known() {
				s.Failed, cl.whole, known = lostSince, false, true
			}
		}
		if known {
			a.look(k, cl)
		}
	}
}

// heldEntry enters what a client says that it holds.
func (a *Account) heldEntry(k *engine.Engine, e *session.Entry, id string) {
	cl, h := a.client(id, e.Seq), e.Held
	src := cl.source(h)
	if src == nil {
		return
	}
	switch {
	case h.Failed != "":
		src.Failed = h.Failed
	case e.Message == nil || !e.Message.Whole():
		src.Failed = "its answer is not in the recording as a whole"
	case src.Failed == lostSince && !h.Whole:
	default:
		src.Failed, src.Read, src.From = "", Moment{e.Seq, e.Time}, e.Time
		if !e.Start.IsZero() {
			src.From = e.Start
		}
	}
	if src.Failed != "" {
		cl.whole = false
		a.look(k, cl)
		return
	}
	if h.Whole {
		cl.whole, cl.waits, cl.stats = true, nil, nil
	}
	named := a.take(cl, e)
	if h.Whole {
		for at, r := range cl.resources {
			switch {
			case named[at]:
			case len(r.held) > 0:
				a.hold(cl, at, nil, src.Read)
			case r.sent != nil && r.sent.removed && r.now.state == InEffect:
				a.leave(cl, at)
			}
		}
		a.adopt(k, cl, src.From)
	}
	a.look(k, cl)
	a.settleLoads(k, cl, src.From, src.Read)
}

// source is where a client was asked.
func (cl *client) source(h *session.Held) *Asked {
	i := slices.IndexFunc(cl.asked, func(s Asked) bool { return s.Source == h.Source && s.Address == h.Address })
	if i < 0 {
		if i = len(cl.asked); i >= maxSources {
			return nil
		}
		cl.asked = append(cl.asked, Asked{Source: h.Source, Address: h.Address})
	}
	return &cl.asked[i]
}

// take enters the items of an answer, and returns which resources it names.
func (a *Account) take(cl *client, e *session.Entry) map[key]bool {
	all := map[key][]item{}
	for _, c := range decode.PeekClientStatus(e.Message.Data.Bytes()).Configs {
		for i := range c.Resources {
			r := &c.Resources[i]
			if strings.HasPrefix(r.TypeURL, xds.AdminPrefix) {
				if strings.HasSuffix(r.TypeURL, ".UnreadyTargetsDumps") {
					cl.waits = decode.PeekUnready(r.Body)
				} else if strings.HasSuffix(r.TypeURL, ".SimpleMetric") && r.Body != nil {
					cl.stat(r)
				}
				continue
			}
			at := key{xds.ShortType(r.TypeURL), decode.NormalName(r.Name)}
			it, is := a.item(cl, at, r, e.Message.Masked)
			if is && len(all[at]) < maxItems {
				all[at] = append(all[at], it)
			} else if _, named := all[at]; !named {
				all[at] = nil
			}
		}
	}
	named := make(map[key]bool, len(all))
	for at, items := range all {
		named[at] = true
		a.hold(cl, at, items, Moment{e.Seq, e.Time})
	}
	return named
}

// item reads one item; false if it says that there is nothing.
func (a *Account) item(cl *client, at key, r *decode.ResourceStatus, masked bool) (it item, is bool) {
	it.typeURL, it.state, it.version = r.BodyURL, r.Held(), r.Version != ""
	switch it.state {
	case decode.HeldFailed:
		it.error = engine.Reason(r.Error)
		return it, true
	case decode.HeldGone, decode.HeldTimeout, decode.HeldUnknown:
		return it, false
	case decode.HeldDraining:
		return it, true
	}
	if r.Body == nil {
		return it, true
	}
	it.unread = engine.Reason(r.Error)
	if it.state == configdump.Static && at.typ != "EDS" {
		return it, true
	}
	facts := a.in.Inspect(r.BodyURL, r.Body, masked)
	it.hash = facts.Hash
	if it.state == configdump.Warming {
		for _, ref := range facts.Refs[:min(len(facts.Refs), maxRefs)] {
			it.refs = append(it.refs, ref.Type+" "+ref.Name)
		}
	}
	held := it.held(at.typ, r.Body)
	it.empty = held.Empty()
	// Of what was sent with the same content nothing has to be kept.
	if was := cl.resources[at]; was != nil && was.sent != nil && was.sent.hash == it.hash && !was.sent.removed {
		return it, true
	}
	it.body = a.keep(r.Body)
	return it, true
}

// held is an item as it is compared.
func (it *item) held(typ string, b []byte) *configdump.Resource {
	r := &configdump.Resource{Type: typ, TypeURL: it.typeURL, State: it.state, Body: b, Hash: it.hash}
	if it.unread != "" {
		r.Unread = []string{it.unread}
	}
	return r
}

// hold enters all that a client says of a resource.
func (a *Account) hold(cl *client, at key, items []item, when Moment) {
	r := cl.resources[at]
	if r == nil && len(items) == 0 {
		return
	}
	if r = a.resource(cl, at); r == nil {
		return
	}
	for i := range r.held {
		a.drop(r.held[i].body)
	}
	r.held, r.at = items, when
	cl.open[at] = true
	if r.sent == nil {
		delete(cl.open, at)
		delete(cl.strange, at)
		switch {
		case slices.ContainsFunc(items, func(it item) bool { return it.foreign(at.typ) }):
			cl.strange[at] = true
		case len(items) == 0:
			delete(cl.resources, at)
			a.size -= costOf(at)
		}
	}
}

// foreign says whether what is in use comes from a server. Envoy makes clusters itself,
// such as those of a dynamic forward proxy, and lists them with those of CDS, but
// without a version.
func (it *item) foreign(typ string) bool {
	return it.state == configdump.Active && !it.empty && (it.version || typ != "CDS" && typ != "LDS")
}
