package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const groupREST = "REST polling"

// restRules look at discovery by polls of HTTP. Each poll is a stream of its
// own; what belongs together is told by node, server, path and names.
func restRules() []*Rule {
	return []*Rule{
		{
			ID: "rest-path-type-mismatch", Title: "a poll that no server can answer", Group: groupREST,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "REST",
			Spec:   "REST-JSON polling subscriptions",
			Means:  "A poll is a POST of a DiscoveryRequest in JSON to the path of its type, such as /v3/discovery:clusters. This one has a path that stands for no type, another method, another body, or a type_url that is not that of the path. Aggregated discovery and virtual hosts have no path: they cannot be polled.",
			Causes: "A path written by hand, api_type REST for ADS, or a test with curl that forgot the body.",
			Next:   "Compare with the list: clusters, endpoints, listeners, routes, scoped-routes, secrets, runtime, extension_configs.",
			polls:  true, local: true,
			open: restVerb, request: restBody, end: restUnread,
		},
		{
			ID: "rest-unchanged-body", Title: "the same configuration in answer to its own version", Group: groupREST,
			Fault: ServerFault, Severity: Warning, Confidence: Decided, Scope: "REST",
			Spec:   "REST-JSON polling subscriptions",
			Means:  "The poll said which version it has, and the server sent exactly that one in full. Clients apply it again for nothing. A server should hold the poll until something changes, or answer 304.",
			Causes: "A server that serves files or renders its state for each poll, without looking at version_info.",
			Next:   "Let the server answer 304 Not Modified when version_info is current; Envoy understands that. Or raise refresh_delay.",
			polls:  true, request: joinPolls, response: restUnchanged,
		},
		{
			ID: "rest-version-flap", Title: "two versions take turns", Group: groupREST,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "REST, SotW reconnects",
			Spec:   "ACK/NACK and resource type instance version",
			Means:  "The answers to one client go back and forth between two versions. It applies one configuration after the other, as often as it polls. On streams the same is seen over reconnects.",
			Causes: "Two replicas of the control plane behind one address that do not agree: one lags behind, or each counts versions for itself (envoy#8718).",
			Next:   "Compare the replicas. If they agree on the content, derive the version from it, so that it is the same everywhere.",
			polls:  true, request: countPoll, response: restVersionFlap,
		},
		{
			ID: "rest-implicit-nack", Title: "a polled configuration was not taken", Group: groupREST,
			Fault: ServerFault, Severity: Warning, Confidence: Decided, Scope: "REST",
			Spec:   "REST-JSON polling subscriptions",
			Means:  "The server answered with a new version, and the next poll still announces the old one: the client has rejected it. Envoy's polls never carry an error_detail, so this is the only sign on the wire.",
			Causes: "A resource that the client refuses as a whole response, such as an unknown field type or a violated constraint.",
			Next:   "The reason is in the client's log and in its counter update_rejected. See whether the response has findings of its own here.",
			polls:  true, request: restStillOld, response: restOffered,
		},
	}
}

// polls are the conversations that polls add up to.
type polls struct {
	byKey map[string]*poll
	// lists is how many lists of names a client polls a path with, at most 2.
	lists map[string]int
}

// maxPolls bounds them; beyond that all are forgotten.
const maxPolls = 1 << 14

// poll is one of them. Each rule has its own fields.
type poll struct {
	key string

	// Of rest-unchanged-body: the content that came last.
	known   bool
	version string
	sum     [2]uint64
	repeats []time.Time

	// Of rest-version-flap.
	count uint64
	turns []turn // replies of another version than the one before

	// Of rest-implicit-nack: what was offered and not yet polled after.
	offer *offer
}

type turn struct {
	version string
	poll    uint64
	seq     session.Seq
}

type offer struct {
	had, version string
	seq          session.Seq
	names        []string
}

// polling is what a poll is part of.
type polling struct {
	of        *poll
	announced string
	other     bool // the client polls this path for other names too, and for these the first time
}

func (p *polls) get(base, names string) (of *poll, other bool) {
	key := base + "\x00" + names
	if of = p.byKey[key]; of != nil {
		return of, false
	}
	if p.byKey == nil || len(p.byKey) >= maxPolls {
		p.byKey, p.lists = make(map[string]*poll), make(map[string]int)
	}
	of = &poll{key: key}
	p.byKey[key] = of
	other = p.lists[base] > 0
	p.lists[base] = min(2, p.lists[base]+1)
	return of, other
}

// joinPolls finds what a poll is part of.
func joinPolls(x *event) {
	t := x.talk
	if t.method.Variant != decode.VariantREST || pollingOf(t).of != nil {
		return
	}
	id := x.client()
	if id == "" {
		id = fmt.Sprint(t.conn)
	}
	names := slices.Sorted(slices.Values(x.req.m.Names))
	pollingOf(t).announced = x.req.m.Version
	pollingOf(t).of, pollingOf(t).other = x.k.polls.get(
		short(strings.Join([]string{id, t.server, t.method.Path}, "\x00")), short(strings.Join(names, "\x00")))
}

// polled returns what a reply is part of, nil if that is not known or the
// reply is none.
func (x *event) polled() *poll {
	if s := x.talk.status; s != "" && s != "200" {
		return nil
	}
	return pollingOf(x.talk).of
}

const discoveryPath = "/discovery:"

// looksPolled says whether a path is meant to be that of a poll.
func looksPolled(t *talk) bool { return strings.Contains(t.method.Path, discoveryPath) }

func restVerb(x *event) {
	t := x.talk
	verb := session.Get(x.entry.Headers, ":method")
	if !looksPolled(t) || t.method.Service != "" || verb == "" || verb == "POST" {
		return
	}
	x.prove(proof{
		severity: Error, typ: t.method.Type, cause: verb + t.method.Path,
		message: fmt.Sprintf("%s %s, which takes a POST", clip(verb), clip(t.method.Path)),
	})
}

// unmapped says whether a poll goes to a path that stands for no type.
func unmapped(t *talk) bool {
	v := t.method.Variant
	return looksPolled(t) && t.method.Type == "" && (v == decode.VariantREST || v == decode.VariantOther)
}

func (x *event) proveUnmapped(typ string) {
	x.prove(proof{
		severity: Error, typ: typ, cause: x.talk.method.Path,
		message: fmt.Sprintf("%s is the path of no resource type", clip(x.talk.method.Path)),
	})
}

// restUnread looks at what was not read as a poll: there was no body, or the
// path is not even that of a version.
func restUnread(x *event) {
	t := x.talk
	if unmapped(t) && !t.lost && (t.largest == 0 || t.method.Variant == decode.VariantOther) {
		x.proveUnmapped("")
	}
}

func restBody(x *event) {
	t, m := x.talk, x.req.m
	if t.method.Variant != decode.VariantREST {
		return
	}
	typ := ""
	if m.TypeURL != "" {
		typ = decode.ShortType(m.TypeURL)
	}
	if unmapped(t) {
		x.proveUnmapped(typ)
		return
	}
	p := proof{severity: Error, typ: t.method.Type}
	switch {
	case !isJSON(x.entry.Message.Data):
		p.cause, p.message = "body", "the body is not JSON"
	case len(m.Problems) > 0:
		p.cause, p.message = "body", "the body is no DiscoveryRequest in JSON: "+clip(m.Problems[0])
	case typ != "" && typ != t.method.Type:
		p.cause, p.message = typ, fmt.Sprintf("type_url is that of %s, and the path %s that of %s", clip(typ), clip(t.method.Path), t.method.Type)
	default:
		return
	}
	x.prove(p)
}

// isJSON says whether a body begins like an object of JSON, or is empty, which
// stands for one without fields.
func isJSON(data session.Chunks) bool {
	for _, b := range data {
		if b = bytes.TrimLeft(b, " \t\r\n"); len(b) > 0 {
			return b[0] == '{'
		}
	}
	return true
}

func restUnchanged(x *event) {
	p, n := x.polled(), x.resp
	if p == nil {
		return
	}
	announced := pollingOf(x.talk).announced
	same := n.version == announced && announced != "" && !pollingOf(x.talk).other &&
		(!p.known || p.version != n.version || p.sum == n.sum)
	p.known, p.version, p.sum = true, n.version, n.sum
	if !same {
		p.repeats = nil
		return
	}
	most := max(1, x.k.timers.PushCount)
	if p.repeats = append(p.repeats, x.now); len(p.repeats) > most {
		p.repeats = slices.Delete(p.repeats, 0, len(p.repeats)-most)
	}
	f := proof{
		severity: Info, cause: p.key, seqs: []session.Seq{n.wanted.seq, n.seq},
		message: fmt.Sprintf("version %q in full, %s, in answer to a poll that has it", clip(n.version), counted(n.count, "resource", "resources")),
	}
	if took := x.now.Sub(p.repeats[0]); len(p.repeats) == most && took <= x.k.timers.Push {
		f.severity = Warning
		f.message = fmt.Sprintf("version %q in full %d times within %v, in answer to polls that have it", clip(n.version), most, round(took))
	}
	x.prove(f)
}

// flapPolls is how many polls four turns of two versions may take.
const flapPolls = 10

func countPoll(x *event) {
	joinPolls(x)
	if p := pollingOf(x.talk).of; p != nil && x.req.ordinal == 0 {
		p.count++
	}
}

func restVersionFlap(x *event) {
	t, n := x.talk, x.resp
	severity := Warning
	p := x.polled()
	if t.discovery() {
		severity = Info
		if p = x.reconnects(); p != nil {
			p.count++
		}
	}
	if p == nil {
		return
	}
	version := short(n.version)
	if last := len(p.turns) - 1; last >= 0 && p.turns[last].version == version {
		return
	}
	p.turns = append(p.turns, turn{version, p.count, n.seq})
	if len(p.turns) > 4 {
		p.turns = slices.Delete(p.turns, 0, len(p.turns)-4)
	}
	if len(p.turns) < 4 || p.turns[0].version != p.turns[2].version || p.turns[1].version != p.turns[3].version ||
		p.count-p.turns[0].poll >= flapPolls {
		return
	}
	var seqs []session.Seq
	for _, turn := range p.turns {
		seqs = append(seqs, turn.seq)
	}
	what := "polls"
	if severity == Info {
		what = "connects"
	}
	x.prove(proof{
		severity: severity, cause: p.key, seqs: seqs,
		message: fmt.Sprintf("versions %q and %q took turns over %d %s", clip(p.turns[0].version), clip(n.version), p.count-p.turns[0].poll+1, what),
	})
}

// reconnects is the conversation of a client's streams as far as their first
// responses go, nil for another response.
func (x *event) reconnects() *poll {
	t, s, n := x.talk, x.sub, x.resp
	if n.m.Kind != decode.SotwResponse || !n.wasFirst || t.node == nil || t.node.ID == "" || s.first == nil || s.exempt() {
		return nil
	}
	names := ""
	if !t.ads() {
		names = short(strings.Join(slices.Sorted(slices.Values(s.first.m.Names)), "\x00"))
	}
	p, _ := x.k.polls.get(short(strings.Join([]string{t.node.ID, t.node.Cluster, t.server, t.method.Path, s.key}, "\x00")), names)
	return p
}

func restOffered(x *event) {
	p, n := x.polled(), x.resp
	if p == nil {
		return
	}
	p.offer = nil
	if had := pollingOf(x.talk).announced; n.version != had {
		p.offer = &offer{had: had, version: n.version, seq: n.seq, names: append(firstNames(n.added), firstNames(n.changed)...)}
	}
}

func restStillOld(x *event) {
	joinPolls(x)
	p := pollingOf(x.talk).of
	if p == nil || p.offer == nil {
		return
	}
	o := p.offer
	p.offer = nil
	if x.req.m.Version != o.had {
		return
	}
	x.prove(proof{
		severity: Warning, names: o.names, cause: p.key, seqs: []session.Seq{o.seq, x.req.seq},
		message: fmt.Sprintf("version %q was sent, and the next poll still announces %q", clip(o.version), clip(o.had)),
	})
}
