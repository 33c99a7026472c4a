package check

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func responseNonceMissing(x *event) {
	if x.resp.Nonce == "" && !x.sub.Exempt() {
		x.provef(proof{severity: Error, cause: "-"}, "response %d of %s has no nonce", x.resp.Ordinal+1, x.sub.Type)
	}
}

func responseNonceReused(x *event) {
	old := x.resp.Reused
	if x.resp.ReusedPast {
		x.provef(proof{severity: Warning, cause: "-"}, "nonce %q was that of an earlier response already", x.resp.Nonce)
	}
	if old == nil {
		return
	}
	p := proof{
		severity: Warning, cause: "-", seqs: []session.Seq{old.Seq, x.resp.Seq},
		message: fmt.Sprintf("nonce %q was that of entry %d already", x.resp.Nonce, old.Seq),
	}
	if old.Verdict == engine.Unjudged && !x.sub.Lost { // else it may have one that was not seen
		p.severity = Error
		p.message += ", which has no verdict yet"
	}
	x.prove(p)
}

// strange is a nonce that no response of the type on the stream had; "" if the
// request has none, or that is not known.
func (x *event) strange() string {
	if s, r := x.sub, x.req; r.Echoed == nil && !r.EchoedPast && !s.Forgotten && !s.Exempt() {
		return r.Message.Nonce
	}
	return ""
}

func nonceFromPreviousStream(x *event) {
	nonce := x.strange()
	if nonce == "" {
		return
	}
	of, at, _ := x.k.Origin(x.sub, nonce)
	if of == nil || of.Stream == x.stream {
		return
	}
	p := proof{severity: Error, cause: "-", message: fmt.Sprintf("nonce %q is that of a response of %s on an earlier stream", words.Clip(nonce), of.Type)}
	if at != 0 {
		p.seqs = []session.Seq{at, x.req.Seq}
		p.message = fmt.Sprintf("nonce %q is that of entry %d on an earlier stream", words.Clip(nonce), at)
	}
	x.prove(p)
}

func nonceUnknown(x *event) {
	nonce := x.strange()
	if nonce == "" {
		return
	}
	of, at, never := x.k.Origin(x.sub, nonce)
	message := fmt.Sprintf("no response of %s had the nonce %q", x.sub.Type, words.Clip(nonce))
	switch {
	case of != nil && of.Stream == x.stream:
		p := proof{severity: Error, cause: "-", message: fmt.Sprintf("%s; one of %s did", message, of.Type)}
		if at != 0 {
			p.seqs, p.message = []session.Seq{at, x.req.Seq}, fmt.Sprintf("%s; it is that of %s in entry %d", message, of.Type, at)
		}
		x.prove(p)
	case never:
		v := inventedOf(x)
		if v.note(x); len(v.types) > 1 || v.streams > 1 {
			message = fmt.Sprintf("nonces that no response had, in %s on %s, such as the nonce %q",
				words.Counted(len(v.types), "type", "types"), words.Counted(v.streams, "stream", "streams"), words.Clip(nonce))
		}
		client := *x
		client.sub = nil // it is one fault, whatever the type
		client.prove(proof{severity: Warning, cause: "invented", same: "invented", sums: true, message: message})
	}
}

// invented is where a client sent nonces that nobody gave it.
type invented struct {
	types   map[string]struct{} // by key
	streams int
}

// maxInvented bounds the types that are told apart; a stream has no more.
const maxInvented = 256

func (v *invented) note(x *event) {
	if here := inventsOf(x.stream); !*here {
		*here = true
		v.streams++
	}
	if len(v.types) < maxInvented {
		put(&v.types, x.sub.Key, struct{}{})
	}
}

// Bytes are what it takes, for the account of the client.
func (v *invented) Bytes() (n int64) {
	for key := range v.types {
		n += int64(64 + len(key))
	}
	return n
}

func nonceDropped(x *event) {
	s, r := x.sub, x.req
	if r.Message.Kind != decode.SotwRequest || r.Message.Nonce != "" || s.Exempt() || r.Before.Newest == nil || r.Before.Newest.Nonce == "" {
		return
	}
	n, p := r.Before.Newest, proof{severity: Error, cause: "-", seqs: []session.Seq{r.Before.Newest.Seq, r.Seq}}
	switch {
	case r.Before.LastEcho != nil:
		x.provef(p, "no nonce, although an earlier request echoed %q", r.Before.LastEcho.Nonce)
	case r.Ordinal > 0 && n.Wanted != nil && x.now.Sub(n.At) > x.flight():
		p.severity = Warning
		x.provef(p, "no nonce, although response %q came %v before", n.Nonce, words.Round(x.now.Sub(n.At)))
	}
}

func nonceRegressed(x *event) {
	s, r := x.sub, x.req
	last := r.Before.LastEcho
	if r.Message.Kind == decode.SotwRequest && r.EchoedPast && last != nil && !s.Exempt() {
		x.provef(proof{severity: Warning, cause: "-", seqs: []session.Seq{last.Seq, r.Seq}},
			"nonce %q is that of a response long ago, although a request echoed the newer %q before", r.Message.Nonce, last.Nonce)
		return
	}
	if r.Message.Kind != decode.SotwRequest || r.Echoed == nil || last == nil || r.Echoed.Ordinal >= last.Ordinal || s.Exempt() {
		return
	}
	p := proof{
		severity: Warning, cause: "-", seqs: []session.Seq{r.Echoed.Seq, last.Seq, r.Seq},
		message: fmt.Sprintf("nonce %q, although a request echoed the newer %q before", r.Echoed.Nonce, last.Nonce),
	}
	if r.Echoed.Verdict == engine.ACKed && s.AllRejectedSince(r.Echoed) ||
		s.Type == "ECDS" && x.stream.Node != nil && istioNode(x.stream.Node) {
		p.severity = Info
	}
	x.prove(p)
}

// istioNode says whether a node id has Istio's form: type~address~name~domain.
func istioNode(n *decode.Node) bool { return strings.Count(n.ID, "~") == 3 }

func staleRequestAnswered(x *event) {
	s, n := x.sub, x.resp
	if n.Message.Kind != decode.SotwResponse || s.Full() {
		return
	}
	var late []string
	for _, it := range n.Added {
		if lateOf(s).names[it.Name] {
			late = append(late, it.Name)
		}
	}
	if len(late) > 0 {
		x.report(late, "%s was asked for only with an outdated nonce", words.List(late))
	}
}

func deltaSpontaneousWithNonce(x *event) {
	r := x.req
	if r.Message.Kind == decode.DeltaRequest && r.Echoed != nil && r.Verdict == engine.Unjudged && r.Message.Error == nil && r.Echoed.Verdict != engine.Unjudged && !x.sub.Exempt() {
		x.provef(proof{severity: Info, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq}}, "nonce %q had its verdict already", r.Message.Nonce)
	}
}

func staleSubscriptionDropped(x *event) {
	if x.wait.stale {
		x.report(x.wait.left, "%s was asked for in a request with the older nonce %q, and not mentioned for %v",
			words.List(x.wait.left), x.wait.from.Message.Nonce, words.Round(x.k.timers.DNE))
	}
}
