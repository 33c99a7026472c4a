package check

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check/effective"
	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// statusDiverges compares what a client says of itself with its streams.
func statusDiverges(x *event) {
	t, e := x.stream, x.entry
	if t == nil || t.Method.Variant != xds.VariantCSDS || e.Kind != session.KindMessage || e.Side != session.Server ||
		!e.Message.Whole() {
		return
	}
	m := decode.PeekClientStatus(e.Message.Data.Bytes())
	said := make(map[string][]*engine.Stream, len(m.Configs))
	for i := range m.Configs {
		if id := m.Configs[i].NodeID; id != "" {
			said[id] = nil
		}
	}
	for _, o := range x.k.Streams {
		if o.Node == nil || !o.Discovery() {
			continue
		}
		if _, ok := said[o.Node.ID]; ok {
			said[o.Node.ID] = append(said[o.Node.ID], o)
		}
	}
	for i := range m.Configs {
		if streams := said[m.Configs[i].NodeID]; len(streams) > 0 {
			slices.SortFunc(streams, func(a, b *engine.Stream) int { return int(a.OpenAt) - int(b.OpenAt) })
			x.compareStatus(&m.Configs[i], streams)
		}
	}
}

// divergence is a status that no stream of the client agrees with.
type divergence struct {
	sub    *engine.Subscription
	status string
	names  []string
	text   string // about the first name
}

// maxCompares bounds what one client status costs: a client may have thousands
// of streams, and as many resources.
const maxCompares = 1 << 22

// compareStatus holds the account of one client against its streams.
func (x *event) compareStatus(c *decode.ClientConfig, streams []*engine.Stream) {
	var found []*divergence
	for i := range c.Resources[:min(len(c.Resources), maxCompares/len(streams))] {
		r := &c.Resources[i]
		s, why := x.disagree(r, streams)
		if why == "" {
			continue
		}
		at := slices.IndexFunc(found, func(d *divergence) bool { return d.sub == s && d.status == r.Client })
		if at < 0 {
			at = len(found)
			found = append(found, &divergence{sub: s, status: r.Client, text: why})
		}
		found[at].names = append(found[at].names, decode.NormalName(r.Name))
	}
	for _, d := range found {
		about := *x
		about.stream, about.sub = d.sub.Stream, d.sub
		about.provef(proof{severity: Info, names: d.names, cause: d.status, seqs: []session.Seq{d.sub.Newest().Seq, x.entry.Seq}},
			"the client says %s of %s, but %s", d.status, words.List(d.names), d.text)
	}
}

// disagree returns a stream's view of a resource, and how it contradicts what
// the client says; none if a stream may agree.
func (x *event) disagree(r *decode.ResourceStatus, streams []*engine.Stream) (of *engine.Subscription, why string) {
	key, name := engine.Short(xds.TypeKey(r.TypeURL)), decode.NormalName(r.Name)
	if r.TypeURL == "" || name == "" {
		return nil, ""
	}
	for _, t := range streams {
		s := t.Subs[key]
		if s == nil || !s.Wants(name) && s.Have.Get(name) == nil {
			continue
		}
		contradiction := effective.Contradicts(s, r, name, x.now, x.k.timers.ACK)
		if contradiction == "" {
			return nil, ""
		}
		if of == nil {
			of, why = s, contradiction
		}
	}
	return of, why
}
