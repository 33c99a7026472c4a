package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func errorDetailEmpty(x *event) {
	e := x.req.Message.Error
	if e == nil || x.sub.Exempt() {
		return
	}
	switch {
	case e.Message == "":
		x.provef(proof{severity: Warning, cause: "message"}, "an error_detail with %s and no message", codeOf(e))
	case e.Code == 0:
		x.prove(proof{severity: Info, cause: "code", message: "an error_detail with code 0 (OK): " + words.Said(e.Message)})
	}
}

// namesNothing says whether a rejection of the newest response can have no
// nonce, because the response has none.
func (x *event) namesNothing() bool {
	n := x.req.Before.Newest
	return x.req.Message.Nonce == "" && n != nil && n.Nonce == ""
}

func errorDetailWithoutNonce(x *event) {
	if e := x.req.Message.Error; e != nil && x.req.Message.Nonce == "" && !x.namesNothing() && !x.sub.Exempt() {
		x.prove(proof{severity: Warning, cause: "-", message: "an error_detail without a nonce: " + words.Said(e.Message)})
	}
}

// maxReasons is how many reasons of rejections are told apart for a type on a
// stream.
const maxReasons = 8

func nackReceived(x *event) {
	s, r := x.sub, x.req
	e, n := r.Message.Error, r.Echoed
	if x.change.What != engine.NACK || s.Exempt() || n == nil && !r.EchoedPast {
		return
	}
	why := engine.Reason(e.Message)
	cause := why
	if !slices.Contains(acksOf(s).reasons, why) {
		if len(acksOf(s).reasons) < maxReasons {
			acksOf(s).reasons = append(acksOf(s).reasons, why)
		} else {
			cause = "…"
		}
	}
	if x.again(Warning, cause) {
		return
	}
	p := proof{severity: Warning, cause: cause, same: codeOf(e) + ": " + words.Said(e.Message)}
	p.message = fmt.Sprintf("nonce %q rejected with %s", words.Clip(r.Message.Nonce), p.same)
	if n != nil {
		p.seqs, p.names = []session.Seq{n.Seq, r.Seq}, suspects(n.News(), e.Message)
		p.message = fmt.Sprintf("%s with %s rejected with %s%s", label(n), words.Counted(n.Count, "resource", "resources"), p.same, news(n))
	}
	switch was := x.change.Accepted; {
	case was != 0:
		p.message += fmt.Sprintf("; entry %d was accepted last", was)
	case x.change.None:
		p.message += "; nothing was accepted on its stream before"
	}
	x.prove(p)
}

// label is the version of a response, or the nonce of one that has none.
func label(n *engine.Response) string {
	if n.Version == "" || n.Kind == decode.DeltaResponse {
		return fmt.Sprintf("nonce %q", words.Clip(n.Nonce))
	}
	return fmt.Sprintf("version %q", words.Clip(n.Version))
}

// codeOf is the code of an error by number, as servers log it, and by name.
func codeOf(e *decode.Error) string {
	word := words.Code(e.Code)
	if strings.HasPrefix(word, "status ") {
		return fmt.Sprintf("code %d", e.Code)
	}
	return fmt.Sprintf("code %d (%s)", e.Code, word)
}

// news names what a response adds and changes.
func news(n *engine.Response) (text string) {
	if len(n.Added) > 0 {
		text = "; new: " + words.List(itemNames(n.Added))
	}
	if len(n.Changed) > 0 {
		text += "; changed: " + words.List(itemNames(n.Changed))
	}
	return text
}

// suspects are the resources that a rejection is probably about: those that its
// reason names, or else all.
func suspects(lists [2][]*engine.Resource, text string) []string {
	return firstNames(culprits(slices.Concat(lists[:]...), text))
}

// culprits are the resources that a reason names, or else all.
func culprits(items []*engine.Resource, text string) []*engine.Resource {
	const most = 4096
	text = text[:min(len(text), engine.MaxReason)]
	var named []*engine.Resource
	for _, it := range items[:min(len(items), most)] {
		if engine.Mentions(text, it.Name) {
			named = append(named, it)
		}
	}
	if len(named) > 0 {
		return named
	}
	return items
}

// refusal is a response that was rejected, until the next one comes.
type refusal struct {
	of      *engine.Response
	items   []*engine.Resource // of it
	unnamed []*engine.Content
	by      *engine.Request
	// asked says that the client has asked for something since, with the
	// rejection itself or after it.
	asked bool
	// opaque says that part of it cannot be decoded, so that it is known by
	// its bytes only.
	opaque bool
}

// noteNack remembers a rejection, and what came after it.
func noteNack(x *event) {
	s, r := x.sub, x.req
	a := acksOf(s)
	if s.Exempt() {
		return
	}
	if a.nack != nil && (r.Verdict == engine.Unjudged && r.Message.Error == nil || r.Changes(s)) {
		a.nack.asked = true
	}
	switch {
	case r.Verdict == engine.NACKed && (a.nack == nil || a.nack.of != r.Echoed):
		n := r.Echoed
		was := a.nack
		a.nack = &refusal{of: n, items: n.Resolved, unnamed: n.Nameless, by: r, asked: r.Changes(s), opaque: n.Opaque || undecodable(n.Added) || undecodable(n.Changed)}
		if was != nil {
			a.nack.asked = a.nack.asked || was.asked
		}
		n.Opaque = a.nack.opaque
	case r.Verdict == engine.ACKed && r.Message.Kind == decode.SotwRequest:
		a.nack = nil
	}
	if r.Verdict == engine.ACKed {
		a.resends = nil
	}
}

func undecodable(items []*engine.Resource) bool {
	return slices.ContainsFunc(items, func(it *engine.Resource) bool { return it.Content.Facts.Undecodable != "" })
}

// patient is after how long a resend is no immediate one any more: servers
// that retry on purpose wait about that long.
const patient = 5 * time.Second

func nackImmediateResend(x *event) {
	a, n := acksOf(x.sub), x.resp
	r := a.nack
	if a.nack = nil; r == nil {
		return
	}
	same := r.sentAgain(x)
	if !same {
		a.resends = nil
	}
	n.Opaque = same && r.opaque
	if !same || r.asked {
		return
	}
	gap := n.At.Sub(r.by.At)
	p := proof{severity: Warning, cause: "-", seqs: []session.Seq{r.of.Seq, r.by.Seq, n.Seq}}
	times := 0
	switch {
	case gap > patient:
		p.severity = Info
	default:
		t := &x.k.timers
		for len(a.resends) > 0 && (x.now.Sub(a.resends[0]) > t.Loop || len(a.resends) >= t.LoopCount) {
			a.resends = a.resends[1:]
		}
		if a.resends = append(a.resends, x.now); len(a.resends) >= t.LoopCount {
			p.severity, times = Error, len(a.resends)
		}
		if r.opaque {
			p.severity = Info
		}
	}
	if x.again(p.severity, p.cause) {
		return
	}
	p.names = suspects([2][]*engine.Resource{r.items}, r.by.Message.Error.Message)
	what, when := words.Counted(n.Count, "resource", "resources"), words.Round(gap)
	if n.Version != "" {
		what = fmt.Sprintf("version %q with %s", words.Clip(n.Version), what)
	}
	if times > 0 {
		when = fmt.Sprintf("%d times within %s", times, words.Round(x.now.Sub(a.resends[0])))
	}
	p.same = words.Said(r.by.Message.Error.Message)
	p.message = fmt.Sprintf("%s sent again unchanged, %s after the rejection: %s", what, when, p.same)
	x.prove(p)
}

// sentAgain says whether the response of x brings what was rejected: in the
// state of the world all of it and nothing else, in delta some of it and
// nothing new. What the reason names is to blame, and the rest is not.
func (r *refusal) sentAgain(x *event) bool {
	n := x.resp
	if len(n.Heartbeats)+len(n.Message.ResourceErrors) > 0 {
		return false
	}
	if len(n.Added)+len(n.Changed)+len(n.Removed) == 0 && n.Message.Kind == decode.DeltaResponse && len(n.Message.Removed) == 0 {
		for _, it := range culprits(r.items, r.by.Message.Error.Message) {
			if now := x.sub.Have.Get(it.Name); x.here(now) && now.Content.SameAs(it.Content) {
				return true
			}
		}
		if n.Count == 0 {
			return false
		}
	}
	if n.Count != r.of.Count || n.Sum != r.of.Sum || len(n.Nameless) != len(r.unnamed) {
		return false
	}
	for i, c := range n.Nameless {
		if !c.SameAs(r.unnamed[i]) {
			return false
		}
	}
	return n.Message.Kind == decode.SotwResponse || n.Count > 0 && len(n.Message.Removed) == 0
}

// refused is a response that was rejected, for as long as it may be accepted
// when it comes again.
type refused struct {
	sum     [2]uint64
	count   int
	seq, by session.Seq
	reason  string
	lacked  string // what it refers to and was not there
}

const (
	// maxRefused is how many of them a type on a stream has.
	maxRefused = 8
	// maxLacked bounds the references that are looked at.
	maxLacked = 4096
)

func nackThenAcked(x *event) {
	s, r := x.sub, x.req
	n, a := r.Echoed, acksOf(s)
	if s.Exempt() || n == nil || n.Sum == ([2]uint64{}) {
		return
	}
	at := slices.IndexFunc(a.refused, func(o refused) bool { return o.sum == n.Sum && o.count == n.Count })
	switch r.Verdict {
	case engine.NACKed:
		if at >= 0 {
			a.refused = slices.Delete(a.refused, at, at+1)
		}
		a.refused = keepLast(a.refused, refused{
			sum: n.Sum, count: n.Count, seq: n.Seq, by: r.Seq, reason: engine.Reason(r.Message.Error.Message), lacked: x.lacked(n, r.Message.Error.Message),
		}, maxRefused)
	case engine.ACKed:
		if at < 0 {
			return
		}
		was := a.refused[at]
		a.refused = slices.Delete(a.refused, at, at+1)
		if x.again(Info, "-") {
			return
		}
		p := proof{
			severity: Info, cause: "-", names: suspects(n.News(), was.reason), seqs: []session.Seq{was.seq, was.by, n.Seq, r.Seq},
			message: fmt.Sprintf("accepted now, and rejected in entry %d with the same content: %s", was.by, words.Said(was.reason)),
		}
		if was.lacked != "" {
			p.message += "; " + was.lacked
		}
		x.prove(p)
	}
}

// lacked says what a response refers to that was not there when it was
// rejected: what the reason names, or else what the stream had not brought.
func (x *event) lacked(n *engine.Response, text string) string {
	text = text[:min(len(text), engine.MaxReason)]
	missing, left := "", maxLacked
	for _, list := range n.News() {
		for _, it := range list[:min(len(list), maxLacked)] {
			for _, ref := range it.Refs() {
				if left--; left < 0 {
					return missing
				}
				target := x.stream.Sub(ref.Type)
				there := target != nil && target.Have.Get(ref.Name) != nil
				switch {
				case there:
				case engine.Mentions(text, ref.Name):
					return fmt.Sprintf("%q refers to %s %q, which the reason names", words.Clip(it.Name), ref.Type, words.Clip(ref.Name))
				case missing == "" && target != nil && !target.Lost:
					missing = fmt.Sprintf("%q refers to %s %q, which had not been sent", words.Clip(it.Name), ref.Type, words.Clip(ref.Name))
				}
			}
		}
	}
	return missing
}
