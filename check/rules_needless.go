package check

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

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
	case r.Verdict == engine.NACKed && (r.Message.Kind == decode.DeltaRequest || !s.Full()):
		if len(r.Echoed.Resolved) < r.Echoed.Count { // not known any more
			p.bad.full = true
		}
		for _, it := range r.Echoed.Resolved {
			p.bad.add(it.Name)
		}
	case r.Verdict == engine.ACKed:
		if len(r.Echoed.Added)+len(r.Echoed.Changed) > 0 {
			p.moved = x.now
		}
		if len(p.bad.set) > 0 {
			for _, it := range r.Echoed.Resolved {
				delete(p.bad.set, it.Name)
			}
		}
	}
	if r.Verdict == engine.Unjudged || len(r.Added) > 0 {
		p.owed++
		p.owedAt = x.now
	}
	if r.Message.Kind != decode.DeltaRequest || r.Ordinal == 0 {
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
		put(&p.again, decode.NormalName(name), struct{}{})
	}
	for _, name := range r.Message.Subscribe {
		again(name)
	}
	if s.Wild != engine.NotWild {
		// Whether the wildcard covers a name that was given up, the server
		// says by sending it.
		for _, name := range r.Message.Unsubscribe {
			again(name)
		}
	}
}

// note remembers that something changed.
func (p *pushes) note(x *event) {
	if len(x.resp.Added)+len(x.resp.Changed) > 0 {
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
	if s.Seeded && x.now.Sub(x.stream.Opened) <= x.k.timers.Rejoin {
		return true
	}
	if s.Found.After(since) {
		return true // or what asked for them was not seen
	}
	switch s.Type {
	case "EDS", "RDS", "SDS", "ECDS", "VHDS":
	default:
		return false
	}
	for _, typ := range xds.ByShort(s.Type).Parents {
		p := x.stream.Sub(typ)
		if p == nil {
			continue
		}
		if was := &contentOf(p).pushes; p.Lost || !was.owedAt.Before(since) || !was.moved.Before(since) {
			return true
		}
	}
	return false
}

// sureOf says whether the client is known to have accepted all that was sent
// before the response that is looked at.
func (x *event) sureOf() bool {
	s := x.sub
	return !s.Variants && len(s.Sent) > 1 && s.Sent[len(s.Sent)-2].Verdict == engine.ACKed && !contentOf(s).pushes.bad.full
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
	return fmt.Sprintf("; %d such responses within %s", len(p.needless), words.Round(x.now.Sub(p.needless[0])))
}

func needlessPush(x *event) {
	s, n, p := x.sub, x.resp, &contentOf(x.sub).pushes
	p.note(x)
	if n.Message.Kind != decode.SotwResponse || p.wasAsked(x) || n.WasFirst || x.foreign() {
		return
	}
	if len(n.Added)+len(n.Changed)+len(n.Removed)+len(n.Timed)+len(n.Heartbeats)+n.Freed+n.Twice+len(n.Message.ResourceErrors) > 0 ||
		len(n.Resolved) != n.Count || n.Count == 0 && !s.Full() || !x.sureOf() || x.explained() {
		return
	}
	if len(p.bad.set) > 0 {
		for _, it := range n.Resolved {
			if p.bad.has(it.Name) {
				return
			}
		}
	}
	severity, cause := Info, "version"
	if n.Version == previousVersion(s) {
		severity, cause = p.count(x), "-"
	}
	if x.again(severity, cause) {
		return
	}
	message := fmt.Sprintf("version %q has nothing new: %s as the client had accepted before", words.Clip(n.Version), words.Counted(n.Count, "resource is", "resources are"))
	x.prove(proof{severity: severity, names: firstNames(n.Resolved), cause: cause, message: message + p.times(x, severity)})
}

func deltaNeedlessPush(x *event) {
	n, p := x.resp, &contentOf(x.sub).pushes
	p.note(x)
	if n.Message.Kind != decode.DeltaResponse {
		return
	}
	again := p.again
	if len(again) > 0 {
		defer p.answered(n)
	}
	if len(n.Same)+len(n.Reissued) == 0 || n.Twice > 0 || n.WasFirst || x.foreign() || !x.sureOf() || x.explained() ||
		!p.allAgain.IsZero() && x.now.Sub(p.allAgain) <= x.k.timers.Warm {
		return
	}
	if n.Aliased && len(again) > 0 {
		for i := range n.Message.Resources {
			for _, a := range n.Message.Resources[i].Aliases {
				if _, asked := again[decode.NormalName(a)]; asked {
					return
				}
			}
		}
	}
	timed := make(map[string]struct{}, len(n.Timed))
	for _, i := range n.Timed {
		timed[decode.NormalName(n.Message.Resources[i].Name)] = struct{}{}
	}
	unasked := func(items []*engine.Resource) (out []*engine.Resource) {
		for _, it := range items {
			_, asked := again[it.Name]
			_, ttl := timed[it.Name]
			if !asked && !ttl && !p.bad.has(it.Name) {
				out = append(out, it)
			}
		}
		return out
	}
	needless, severity, cause := unasked(n.Same), Info, "-"
	if len(needless) > 0 {
		severity = p.count(x)
	} else if needless, cause = unasked(n.Reissued), "version"; len(needless) == 0 {
		return
	}
	if x.again(severity, cause) {
		return
	}
	names, at := firstNames(needless), ""
	if v := needless[0].Version; v != "" {
		at = fmt.Sprintf(" at version %q", words.Clip(v))
		if cause == "version" {
			at = fmt.Sprintf(" at the new version %q", words.Clip(v))
		}
	}
	message := fmt.Sprintf("%q came again%s as it was", words.Clip(names[0]), at)
	if more := len(needless) - 1; more > 0 {
		message = fmt.Sprintf("%s, and %s", message, words.Counted(more, "other", "others"))
	}
	x.prove(proof{severity: severity, names: names, cause: cause, message: message + p.times(x, severity)})
}

// answered forgets the names that a response mentions.
func (p *pushes) answered(n *engine.Response) {
	for _, it := range n.Resolved {
		delete(p.again, it.Name)
	}
	for _, name := range n.Message.Removed {
		delete(p.again, decode.NormalName(name))
	}
	if n.Aliased {
		for i := range n.Message.Resources {
			for _, a := range n.Message.Resources[i].Aliases {
				delete(p.again, decode.NormalName(a))
			}
		}
	}
}

// firstNames are the names of the first items, as many as a finding has.
func firstNames(items []*engine.Resource) []string {
	names := make([]string, 0, min(len(items), maxFindingNames))
	for _, it := range items[:cap(names)] {
		names = append(names, it.Name)
	}
	return names
}
