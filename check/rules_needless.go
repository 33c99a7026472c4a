package check

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
)

// needlessRules look for responses that tell the client what it knows.
func needlessRules() []*Rule {
	return []*Rule{
		{
			ID: "needless-push", Title: "a response that changes nothing", Group: groupContent,
			Fault: ServerFault, Severity: Info, Confidence: Timed, Scope: "SotW",
			Spec:   "When to send an update",
			Means:  "All resources of the response are as the client had accepted them, and nothing explains why they were sent again: no request, no reconnect, no change of what they belong to. The client parses, compares and acknowledges for nothing. Three within a minute are a warning.",
			Causes: "A control plane that pushes all types whenever anything changes (istiod's full push), or on a timer, or whose content differs only in the order of a map (envoy#7401, go-control-plane#977).",
			Next:   "One now and then is harmless. If they come in rows, compare what triggers a push with what changed, and let the server compare content before it sends.",
			request: func(x *event) {
				if x.req.m.Kind == decode.SotwRequest {
					noteAsked(x)
				}
			},
			response: needlessPush,
		},
		{
			ID: "delta-needless-push", Title: "a resource that is sent again as it was", Group: groupContent,
			Fault: ServerFault, Severity: Info, Confidence: Timed, Scope: "Delta",
			Spec:   "When to send an update; Grouping Resources into Responses",
			Means:  "Delta is for changes, and this resource has the name, version and content that the client had accepted. Nobody asked for it again, and nothing it belongs to had changed. Three such responses within a minute are a warning.",
			Causes: "A server that sends whole snapshots over delta, or loses track of what it has sent to whom.",
			Next:   "Let the server remember per stream the version of each resource that was acknowledged, and leave those out.",
			request: func(x *event) {
				if x.req.m.Kind == decode.DeltaRequest {
					noteAsked(x)
				}
			},
			response: deltaNeedlessPush,
		},
	}
}

// pushes is what explains that something is sent again, and when it was not
// explained.
type pushes struct {
	// owed counts requests, beside verdicts, that no response can have been
	// the answer to; the last of them came at owedAt.
	owed   int
	owedAt time.Time
	// again are names that a delta client asked for although it has them, and
	// allAgain is when it did so for all.
	again    map[string]struct{}
	allAgain time.Time
	// moved is when something of the type changed, or such a change was
	// accepted.
	moved    time.Time
	bad      nameMemory  // names in responses that were rejected and in none accepted since
	needless []time.Time // the last ones that nothing explained
}

// noteAsked remembers what a request gives the server reason to send.
func noteAsked(x *event) {
	s, r, p := x.sub, x.req, &contentOf(x.sub).pushes
	switch {
	case r.verdict == rejected && (r.m.Kind == decode.DeltaRequest || !s.full()):
		if len(r.echoed.resolved) < r.echoed.count { // not known any more
			p.bad.full = true
		}
		for _, it := range r.echoed.resolved {
			p.bad.add(it.name)
		}
	case r.verdict == accepted:
		if len(r.echoed.added)+len(r.echoed.changed) > 0 {
			p.moved = x.now
		}
		if len(p.bad.set) > 0 {
			for _, it := range r.echoed.resolved {
				delete(p.bad.set, it.name)
			}
		}
	}
	if r.verdict == unjudged || len(r.added) > 0 {
		p.owed++
		p.owedAt = x.now
	}
	if r.m.Kind != decode.DeltaRequest || r.ordinal == 0 {
		return
	}
	again := func(name string) {
		if name == "*" {
			p.allAgain = x.now
			return
		}
		if len(p.again) >= maxContentNames {
			p.again, p.allAgain = nil, x.now
		}
		if p.again == nil {
			p.again = make(map[string]struct{})
		}
		p.again[decode.NormalName(name)] = struct{}{}
	}
	for _, name := range r.m.Subscribe {
		again(name)
	}
	if s.wild != notWild {
		// Whether the wildcard covers a name that was given up, the server
		// says by sending it.
		for _, name := range r.m.Unsubscribe {
			again(name)
		}
	}
}

// note remembers that something changed.
func (p *pushes) note(x *event) {
	if len(x.resp.added)+len(x.resp.changed) > 0 {
		p.moved = x.now
	}
}

// wasAsked says whether a response may be the answer to a request that was
// more than a verdict, and counts it as that.
func (p *pushes) wasAsked(x *event) bool {
	if p.owed == 0 {
		return false
	}
	if x.now.Sub(p.owedAt) > x.k.timers.Warm {
		p.owed = 0
		return false
	}
	p.owed--
	return true
}

// explained says whether the time explains that resources are sent again: they
// belong to others that were just sent or asked for, or the stream is new and
// the client had them before.
func (x *event) explained() bool {
	s, since := x.sub, x.now.Add(-x.k.timers.Warm)
	if s.seeded && x.now.Sub(x.talk.opened) <= x.k.timers.Rejoin {
		return true
	}
	if s.found.After(since) {
		return true // or what asked for them was not seen
	}
	switch s.typ {
	case "EDS", "RDS", "SDS", "ECDS", "VHDS":
	default:
		return false
	}
	for _, typ := range parents(s.typ) {
		p := x.talk.sub(typ)
		if p == nil {
			continue
		}
		if was := &contentOf(p).pushes; p.lost || !was.owedAt.Before(since) || !was.moved.Before(since) {
			return true
		}
	}
	return false
}

// sureOf says whether the client is known to have accepted all that was sent
// before the response that is looked at.
func (x *event) sureOf() bool {
	s := x.sub
	return !s.variants && len(s.sent) > 1 && s.sent[len(s.sent)-2].verdict == accepted && !contentOf(s).pushes.bad.full
}

// count enters a needless response and says how grave that is by now.
func (p *pushes) count(x *event) Severity {
	t := &x.k.timers
	for len(p.needless) > 0 && (x.now.Sub(p.needless[0]) > t.Push || len(p.needless) >= t.PushCount) {
		p.needless = p.needless[1:]
	}
	p.needless = append(p.needless, x.now)
	if len(p.needless) >= t.PushCount {
		return Warning
	}
	return Info
}

// times says how many needless responses there were, if they are too many.
func (p *pushes) times(x *event, s Severity) string {
	if s == Info {
		return ""
	}
	return fmt.Sprintf("; %d such responses within %s", len(p.needless), round(x.now.Sub(p.needless[0])))
}

func needlessPush(x *event) {
	s, n, p := x.sub, x.resp, &contentOf(x.sub).pushes
	p.note(x)
	if n.m.Kind != decode.SotwResponse || p.wasAsked(x) || n.wasFirst || x.foreign() {
		return
	}
	if len(n.added)+len(n.changed)+len(n.removed)+len(n.timed)+len(n.heartbeats)+n.twice+len(n.m.ResourceErrors) > 0 ||
		len(n.resolved) != n.count || n.count == 0 && !s.full() || !x.sureOf() || x.explained() {
		return
	}
	if len(p.bad.set) > 0 {
		for _, it := range n.resolved {
			if p.bad.has(it.name) {
				return
			}
		}
	}
	severity := p.count(x)
	if x.again(severity, "-") {
		return
	}
	message := fmt.Sprintf("version %q has nothing new: %s as the client had accepted before", clip(n.version), counted(n.count, "resource is", "resources are"))
	x.prove(proof{severity: severity, names: firstNames(n.resolved), cause: "-", message: message + p.times(x, severity)})
}

func deltaNeedlessPush(x *event) {
	n, p := x.resp, &contentOf(x.sub).pushes
	p.note(x)
	if n.m.Kind != decode.DeltaResponse {
		return
	}
	again := p.again
	if len(again) > 0 {
		defer p.answered(n)
	}
	if len(n.same) == 0 || n.twice > 0 || n.wasFirst || x.foreign() || !x.sureOf() || x.explained() ||
		!p.allAgain.IsZero() && x.now.Sub(p.allAgain) <= x.k.timers.Warm {
		return
	}
	if n.aliased && len(again) > 0 {
		for i := range n.m.Resources {
			for _, a := range n.m.Resources[i].Aliases {
				if _, asked := again[decode.NormalName(a)]; asked {
					return
				}
			}
		}
	}
	timed := make(map[string]struct{}, len(n.timed))
	for _, i := range n.timed {
		timed[decode.NormalName(n.m.Resources[i].Name)] = struct{}{}
	}
	var needless []*item
	for _, it := range n.same {
		_, asked := again[it.name]
		_, ttl := timed[it.name]
		if !asked && !ttl && !p.bad.has(it.name) {
			needless = append(needless, it)
		}
	}
	if len(needless) == 0 {
		return
	}
	severity := p.count(x)
	if x.again(severity, "-") {
		return
	}
	names := firstNames(needless)
	message := fmt.Sprintf("%q came again at version %q as it was", clip(names[0]), clip(needless[0].version))
	if more := len(needless) - 1; more > 0 {
		message = fmt.Sprintf("%q and %s came again as they were", clip(names[0]), counted(more, "other", "others"))
	}
	x.prove(proof{severity: severity, names: names, cause: "-", message: message + p.times(x, severity)})
}

// answered forgets the names that a response mentions.
func (p *pushes) answered(n *response) {
	for _, it := range n.resolved {
		delete(p.again, it.name)
	}
	for _, name := range n.m.Removed {
		delete(p.again, decode.NormalName(name))
	}
	if n.aliased {
		for i := range n.m.Resources {
			for _, a := range n.m.Resources[i].Aliases {
				delete(p.again, decode.NormalName(a))
			}
		}
	}
}

// firstNames are the names of the first items, as many as a finding has.
func firstNames(items []*item) []string {
	names := make([]string, 0, min(len(items), maxFindingNames))
	for _, it := range items[:cap(names)] {
		names = append(names, it.name)
	}
	return names
}
