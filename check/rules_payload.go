package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// payload is what rules of this group remember of a type.
type payload struct {
	scopes map[string]string // scope key to the name that has it
	broken int               // responses that wait for their verdict
}

// orNameless is a name as messages write it.
type orNameless string

func (n orNameless) String() string {
	if n == "" {
		return "a resource without a name"
	}
	return fmt.Sprintf("%q", words.Clip(string(n)))
}

func resourceUndecodable(x *event) {
	if x.foreign() {
		return
	}
	var names []string
	bad, first := 0, ""
	x.resp.Fresh(func(name string, c *engine.Content) {
		why := c.Facts.Undecodable
		if why == "" {
			return
		}
		if bad++; bad == 1 {
			first = fmt.Sprintf("%s does not parse as %s: %s", orNameless(name), x.sub.Type, words.Clip(why))
		}
		if name != "" {
			names = append(names, name)
		}
	})
	if bad == 0 {
		return
	}
	if bad > 1 {
		first += fmt.Sprintf(" (and %s)", words.Counted(bad-1, "other", "others"))
	}
	x.report(names, "%s", first)
}

// noted reports what it finds in a response.
func noted(find func(*event) flaws) func(*event) {
	return func(x *event) {
		if !x.foreign() {
			found := find(x)
			found.report(x, Info)
		}
	}
}

// rejected reports what it finds in a response that the client rejects.
func rejected(find func(*event) flaws) func(*event) {
	return func(x *event) {
		at := *x
		at.resp = x.req.Echoed
		if x.req.Verdict != engine.NACKed || at.foreign() {
			return
		}
		found := find(&at)
		for _, cause := range found.causes {
			p := found.by[cause]
			p.severity, p.settles, p.seqs = Warning, true, []session.Seq{at.resp.Seq, x.req.Seq}
			p.message += ", and the client rejected the response"
			x.prove(*p)
		}
	}
}

// unknowns finds what is not known in a response.
func unknowns(x *event) (found flaws) {
	// Types of other makers than Envoy's are not linked, which is no news
	// where they have a name here at all.
	newType := x.sub.URL != "" && xds.TypeKey(x.sub.URL) == x.sub.URL
	x.resp.Fresh(func(name string, c *engine.Content) {
		if f := c.Facts; !f.Known && newType {
			found.add("type", name, "type %s of %s is not known", words.Clip(xds.TypeName(x.sub.URL)), orNameless(name))
		}
		for _, what := range c.Facts.Unknown {
			found.add(what, name, "%s has %s", orNameless(name), words.Clip(what))
		}
	})
	return found
}

// deprecations finds the deprecated fields of a response, all as one flaw.
func deprecations(x *event) (found flaws) {
	fields, resources := 0, 0
	x.resp.Fresh(func(name string, c *engine.Content) {
		if list := c.Facts.Deprecated; len(list) > 0 {
			found.add("-", name, "%s sets %s, which is deprecated", orNameless(name), words.Clip(list[0]))
			resources++
			fields += len(list)
		}
	})
	switch {
	case resources > 1:
		found.by["-"].message += fmt.Sprintf("; %d resources have %d such fields", resources, fields)
	case fields > 1:
		found.by["-"].message += fmt.Sprintf("; it has %d such fields", fields)
	}
	return found
}

// deprecatedRejected looks at rejections that speak of it: the fields are in
// many responses that are rejected for another reason.
func deprecatedRejected(x *event) {
	if e := x.req.Message.Error; e != nil && strings.Contains(e.Message, "deprecated") {
		rejected(deprecations)(x)
	}
}

// brokenConstraints finds the constraints that a response breaks.
func brokenConstraints(x *event) (found flaws) {
	x.resp.Fresh(func(name string, c *engine.Content) {
		for _, what := range c.Facts.Invalid {
			found.add(what, name, "%s: %s", orNameless(name), words.Clip(what))
		}
	})
	return found
}

// maxBroken bounds the responses of a type that wait for their verdict.
const maxBroken = 64

// constraintBroken waits for the verdict, because what the client accepts is
// no matter. Without verdicts, as on REST and in files, it does not.
func constraintBroken(x *event) {
	s := x.sub
	if x.foreign() {
		return
	}
	found := brokenConstraints(x)
	switch {
	case isFile(x.stream):
		constraintInFile(x)
		return
	case len(found.causes) == 0:
		return
	case !x.stream.Discovery():
		found.report(x, Info)
		return
	case payloadOf(s).broken >= maxBroken:
		return
	}
	payloadOf(s).broken++
	found.judgeLater(x)
}

// judgeLater reports what is wrong with a response, unless its verdict comes.
func (f flaws) judgeLater(x *event) {
	n, s := x.resp, x.sub
	x.after(ackTime(x, n), func(x *event) {
		if payloadOf(s).broken > 0 {
			payloadOf(s).broken--
		}
		if n.Verdict == engine.Unjudged && !s.Lost {
			f.report(x, Info)
		}
	})
}

// constraintInFile does not wait: nobody will ever say that a file was rejected.
// What an Any holds, Envoy looks at only where it uses it.
func constraintInFile(x *event) {
	var own, inside flaws
	x.resp.Fresh(func(name string, c *engine.Content) {
		for i, what := range c.Facts.Invalid {
			if i < c.Facts.InvalidOwn {
				own.add(what, name, "%s: %s; Envoy rejects the file, unless its release has another constraint there", orNameless(name), words.Clip(what))
			} else {
				inside.add(what, name, "%s: %s; Envoy rejects the file if it uses that", orNameless(name), words.Clip(what))
			}
		}
	})
	own.report(x, Error)
	inside.report(x, Warning)
}

func scopeKeyConflict(x *event) {
	s, n, p := x.sub, x.resp, payloadOf(x.sub)
	if s.Type != "SRDS" {
		return
	}
	if p.scopes == nil {
		p.scopes = make(map[string]string)
		for _, name := range slices.Sorted(maps.Keys(maps.Collect(s.Kept.All()))) {
			if key := s.Kept.Get(name).Scope(); key != "" {
				p.scopes[key] = name
			}
		}
	}
	for _, list := range [][]*engine.Resource{n.Removed, n.Before} { // keys that are free now
		for _, it := range list {
			if key := it.Scope(); p.scopes[key] == it.Name {
				delete(p.scopes, key)
			}
		}
	}
	for it := range n.AddedOrChanged() {
		key := it.Scope()
		if key == "" || s.Have.Get(it.Name) != it {
			continue
		}
		other := s.Have.Get(p.scopes[key])
		if other == nil || other == it || other.Scope() != key {
			p.scopes[key] = it.Name
			continue
		}
		f := proof{
			severity: Warning, names: []string{other.Name, it.Name},
			message: fmt.Sprintf("scope %q has the key of scope %q, which is still there", words.Clip(it.Name), words.Clip(other.Name)),
		}
		if x.here(other) {
			f.severity = Error
			f.message = fmt.Sprintf("scopes %q and %q of one response have the same key", words.Clip(other.Name), words.Clip(it.Name))
		}
		x.prove(f)
	}
}

func grpcConfigSource(x *event) {
	if !x.stream.ADS() || !x.stream.GRPCClient() {
		return
	}
	var found flaws
	for it := range x.resp.AddedOrChanged() {
		for _, what := range it.Content.Facts.GRPCProblems {
			found.add(what, it.Name, "%q: %s", words.Clip(it.Name), words.Clip(what))
		}
	}
	found.report(x, Error)
}
