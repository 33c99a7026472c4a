package script

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

func (p *player) loadRequest(l *line) (action, int64, error) {
	f := l.fields(append([]string{"stats"}, nodeWords...)...)
	q := &synth.LoadRequest{Node: f.node(), Clusters: f.names("stats")}
	return p.send(l, session.Client, q.Marshal), 64 * int64(len(q.Clusters)), f.done(0)
}

func (p *player) loadResponse(l *line) (action, int64, error) {
	f := l.fields("clusters", "send_all", "interval")
	r := &synth.LoadResponse{Clusters: f.names("clusters"), SendAll: f.boolean("send_all"), Interval: f.duration("interval")}
	return p.send(l, session.Server, r.Marshal), 0, f.done(0)
}

// status reads "-- csds": someone asks for the status of a client, and gets it.
func (p *player) status(l *line) (action, error) {
	var resources []synth.ResourceStatus
	words := l.words[:1:1]
	for _, w := range l.words[1:] {
		if w.key == "" || w.key == "node" {
			words = append(words, w)
			continue
		}
		r, err := l.resourceStatus(span{w.off, w.value.to})
		if err != nil {
			return nil, err
		}
		resources = append(resources, r)
	}
	l.words = words
	f := l.fields("node")
	f.need("node")
	r := &synth.StatusResponse{Node: f.node(), Resources: resources}
	if f.err != nil {
		return nil, f.err
	}
	q := &synth.StatusRequest{Node: r.Node.ID}
	return func() error {
		s := l.stream
		if err := s.alive(l); err != nil {
			return err
		}
		p.openGRPC(s)
		p.add(s.on(session.Client, session.KindMessage), q.Marshal)
		p.headers(s)
		p.add(s.on(session.Server, session.KindMessage), r.Marshal)
		return nil
	}, f.done(1)
}

// resourceStatus is TYPE/NAME=STATUS[@VERSION].
func (l *line) resourceStatus(s span) (r synth.ResourceStatus, err error) {
	_, rest, err := l.part(s, "/=")
	if err != nil {
		return r, err
	}
	if rest.from == rest.to || l.text[rest.from] != '/' {
		return r, l.fail(s.from, "%s is no status of a resource", quoteShort(l.str(s))).hint("such as CDS/c1=NACKED@1")
	}
	if r.TypeURL, err = l.typeURL(span{s.from, rest.from}); err != nil {
		return r, err
	}
	eq, err := l.until(rest.from, rest.to, "=")
	if err != nil {
		return r, err
	}
	if r.Name, err = l.textOf(span{rest.from + 1, eq}); err != nil {
		return r, err
	}
	var version span
	if r.Status, version, err = l.part(span{eq + 1, rest.to}, "@"); err != nil {
		return r, err
	}
	if r.Status = strings.ToUpper(r.Status); !slices.Contains(synth.Statuses(), r.Status) {
		return r, l.fail(eq+1, "%s is no status of a resource", quoteShort(r.Status)).meant(r.Status, synth.Statuses())
	}
	if version.from < version.to {
		r.Version, err = l.textOf(span{version.from + 1, version.to})
	}
	return r, err
}
