package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// omission is what a state-of-the-world response left out although the client
// was still subscribed to it.
type omission struct {
	at    time.Time
	from  *engine.Response
	items []*engine.Resource // as they were before
	asked session.Seq        // the request that asked for just what there is
	told  bool               // as one that looks partial
}

// maxOmissions bounds the omissions of a type that may yet turn out to be none.
const maxOmissions = 4

// noteNamesAsked remembers the names that requests add between two responses.
func noteNamesAsked(x *event) {
	c := contentOf(x.sub)
	if x.req.Message.Kind == decode.SotwRequest && x.sub.Whole() && len(c.asked) < maxContentNames {
		c.asked = append(c.asked, x.req.Added...)
	}
}

func partialState(x *event) {
	s, n := x.sub, x.resp
	if n.Message.Kind != decode.SotwResponse || !s.Whole() {
		return
	}
	c := contentOf(s)
	asked := c.asked
	c.asked = nil
	severity := Warning
	if !s.Full() {
		severity = Info
	}
	c.omitted = slices.DeleteFunc(c.omitted, func(o omission) bool {
		if x.now.Sub(o.at) > x.k.timers.Retro {
			return true
		}
		if !x.cameBack(&o) {
			return false
		}
		names := itemNames(o.items)
		how, orElse := wantedHow(s, names[0])
		x.provef(proof{severity: severity, names: names, cause: "-", seqs: []session.Seq{o.from.Seq, n.Seq}, settles: o.told},
			"%s not in the response although %s, and sent again unchanged %v later%s", words.List(names), how, words.Round(x.now.Sub(o.at)), orElse)
		return true
	})
	// That all is gone is another matter, and another rule's.
	if len(n.Removed) == 0 || n.Count == 0 {
		return
	}
	o := omission{at: x.now, from: n}
	for _, it := range n.Removed {
		if s.Wants(it.Name) {
			o.items = append(o.items, it)
		}
	}
	if len(o.items) == 0 {
		return
	}
	// Clients that name their clusters take the names from routes. A new version
	// without a cluster that no route names any more has deleted it: the client is
	// about to give it up.
	known := true
	if s.Type == "CDS" && s.Wild == engine.NotWild && (n.Version == "" || n.Version != previousVersion(s)) {
		var by map[string]engine.Referrer
		if by, known = x.stream.Mentioned(nameSet(itemNames(o.items))); known {
			o.items = without(o.items, func(it *engine.Resource) bool { _, is := by[it.Name]; return !is })
		}
		if len(o.items) == 0 {
			return
		}
	}
	if n.Wanted != nil && (sameNames(n.Resolved, n.Wanted.Added) || sameNames(n.Resolved, asked)) {
		o.asked = n.Wanted.Seq
		if known {
			x.looksPartial(&o, severity)
		} else {
			x.after(x.flight(), func(x *event) { x.notGivenUp(n, severity) })
		}
	}
	c.omitted = keepLast(c.omitted, o, maxOmissions)
}

// wantedHow says how the client asks for a name, and what else it may have been
// that the name came back, where only the server knows what there is.
func wantedHow(s *engine.Subscription, name string) (how, orElse string) {
	if s.Names.Has(name) {
		return "subscribed to", ""
	}
	return "all are asked for", "; if it was deleted on purpose, that was rolled back"
}

// looksPartial reports an omission for what is there instead.
func (x *event) looksPartial(o *omission, severity Severity) {
	o.told = true
	names := itemNames(o.items)
	how, _ := wantedHow(x.sub, names[0])
	x.provef(proof{severity: severity, names: names, cause: "-", seqs: []session.Seq{o.asked, o.from.Seq}},
		"the response has only what was asked for last, and not %s, although %s", words.List(names), how)
}

// notGivenUp reports what a response had left out, if the client still asks for
// it and does not have it.
func (x *event) notGivenUp(n *engine.Response, severity Severity) {
	s, omitted := x.sub, contentOf(x.sub).omitted
	for i := range omitted {
		if o := &omitted[i]; o.from == n && x.stream.Alive() {
			o.items = without(o.items, func(it *engine.Resource) bool {
				return !s.Names.Has(it.Name) || s.Have.Get(it.Name) != nil || s.Dropped[it.Name].At.After(o.at)
			})
			if len(o.items) > 0 {
				x.looksPartial(o, severity)
			}
		}
	}
}

// cameBack says whether the response that is looked at has all that was left
// out, as it was, and the client had not given it up.
func (x *event) cameBack(o *omission) bool {
	s := x.sub
	for _, it := range o.items {
		now := s.Have.Get(it.Name)
		if !x.here(now) || !now.Content.SameAs(it.Content) {
			return false
		}
		if was, ok := s.Dropped[it.Name]; ok && !was.At.Before(o.at) {
			return false
		}
	}
	return true
}

// sameNames says whether items have these names, each once.
func sameNames(items []*engine.Resource, names []string) bool {
	if len(names) == 0 || len(items) != len(names) {
		return false
	}
	set := nameSet(names)
	for _, it := range items {
		if _, ok := set[it.Name]; !ok {
			return false
		}
		delete(set, it.Name)
	}
	return true
}

// Few resources come and go; of massOf and more, losing more than massPart in
// a hundred is worth a look.
const (
	massOf   = 5
	massPart = 80
)

func massRemoval(x *event) {
	s, n := x.sub, x.resp
	if !s.Full() || len(n.Removed) == 0 || s.Exempt() {
		return
	}
	gone := make([]*engine.Resource, 0, len(n.Removed))
	for _, it := range n.Removed {
		// The answer to a client that gave up a name under a wildcard.
		_, dropped := s.Dropped[it.Name]
		if s.Wants(it.Name) && (!dropped || s.Names.Has(it.Name)) {
			gone = append(gone, it)
		}
	}
	had := n.Was - (len(n.Removed) - len(gone))
	all := s.Have.Len() == 0
	if len(gone) == 0 || !all && (had < massOf || len(gone)*100 <= had*massPart) {
		return
	}
	names := itemNames(gone)
	message := fmt.Sprintf("%d of the %d resources that the client had are removed at once: %s", len(gone), had, words.List(names))
	if all {
		message = fmt.Sprintf("all %d resources that the client had are removed at once: %s", len(gone), words.List(names))
		if len(gone) == 1 {
			message = fmt.Sprintf("the only resource that the client had is removed: %s", words.List(names))
		}
	}
	x.prove(proof{severity: Warning, names: names, cause: "-", message: message})
}
