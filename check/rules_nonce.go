package check

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const groupNonces = "Nonces"

// nonceRules look at what ties a request to a response.
func nonceRules() []*Rule {
	return []*Rule{
		{
			ID: "response-nonce-missing", Title: "a response without a nonce", Group: groupNonces,
			Fault: ServerFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:   "Basic Protocol Overview; Incremental xDS",
			Means:  "A client accepts or rejects a response by echoing its nonce. Without one there is nothing to echo: the answer looks like a first request, and the server cannot tell whether its configuration was taken.",
			Causes: "A hand-written management server that leaves the field empty, or one that builds its responses for REST, where no nonce is needed.",
			Next:   "Let the server give each response of a type on a stream a nonce of its own; a counter is enough.",
			local:  true, response: responseNonceMissing,
		},
		{
			ID: "response-nonce-reused", Title: "one nonce for two responses", Group: groupNonces,
			Fault: ServerFault, Severity: Warning, Confidence: Decided, Scope: "all",
			Spec:     "Basic Protocol Overview; Resource updates",
			Means:    "The server used a nonce again for the same type on the same stream. The next ACK or NACK that echoes it may be about either response; while the earlier one has no verdict yet, nobody can tell which.",
			Causes:   "A server that uses the version as the nonce, and answers again at an unchanged version, for example because the client asked for one more name.",
			Next:     "Count nonces per stream, independently of versions.",
			response: responseNonceReused,
		},
		{
			ID: "nonce-from-previous-stream", Title: "a nonce from before the stream began", Group: groupNonces,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:    "Basic Protocol Overview",
			Means:   "The client echoes a nonce that it was given on an earlier stream. A nonce does not survive its stream. Servers that compare nonces take the request for an outdated one and do not answer, so the client waits for ever.",
			Causes:  "A client that keeps its nonces over a reconnect, or an agent between client and server that does.",
			Next:    "Look at how the client clears its state when a stream ends: nonces have to go, versions may stay.",
			request: nonceFromPreviousStream,
		},
		{
			ID: "nonce-unknown", Title: "a nonce that was never sent", Group: groupNonces,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "all",
			Spec:    "ACK and NACK semantics summary",
			Means:   "The client echoes a nonce that no response of this type on this stream had. Its verdict is about nothing the server knows. If the nonce is that of another type, this is an error: the server may ignore the request. If nobody ever sent it, this is a warning, once for each client: the client makes up nonces, and many servers do not mind that in a first request.",
			Causes:  "Nonces that are kept for the whole stream and not for each type (Istio's Go client asks for endpoints with the nonce of clusters). A client that fills the field with a time or a counter of its own (the same client, with MCP), an ACK sent before its response is there, or an agent that changes nonces on the way.",
			Next:    "Compare the nonce with those of the responses before it. If it is that of another type, the client mixes up its types. If it is that of none, let the client leave it empty until it has a response.",
			request: nonceUnknown,
		},
		{
			ID: "nonce-dropped", Title: "no nonce, although there are responses", Group: groupNonces,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "SotW",
			Spec:    "Basic Protocol Overview",
			Means:   "After the first response every request of its type carries the newest nonce. One without looks like a first request: servers start over, or ignore it.",
			Causes:  "A client that builds some of its requests, often those that change names, from a fresh message.",
			Next:    "Find the code of the client that changes its subscription, and let it send the nonce that it received last.",
			request: nonceDropped,
		},
		{
			ID: "nonce-regressed", Title: "back to an older nonce", Group: groupNonces,
			Fault: ClientFault, Severity: Warning, Confidence: Decided, Scope: "SotW",
			Spec:    "Basic Protocol Overview",
			Means:   "The client had echoed a newer response already. Servers drop a request with an older nonce as outdated, and with it the names that it adds, until the next ACK.",
			Causes:  "Envoy's unified mux goes back to the nonce of the last good response after a NACK, which is harmless enough to be a note. Otherwise a client that keeps one nonce for accepted responses and sends it with every change of names.",
			Next:    "See whether the names that this request added were ever sent. If not, this is why.",
			request: nonceRegressed,
		},
		{
			ID: "sotw-stale-request-answered", Title: "an answer to an outdated request", Group: groupNonces,
			Fault: ServerFault, Severity: Info, Confidence: Guessed, Scope: "SotW", Off: true,
			Spec:     "Resource updates",
			Means:    "The server answered a name that the client has named only in requests with an outdated nonce, which a server is told to ignore. Clients do not mind; it says how the server treats nonces.",
			Causes:   "A server that ignores nonces, as Contour does, or one that takes late names on purpose.",
			Next:     "Nothing, unless the server answers things that the client no longer wants.",
			response: staleRequestAnswered,
		},
		{
			ID: "delta-spontaneous-with-nonce", Title: "a change of names echoes a nonce again", Group: groupNonces,
			Fault: ClientFault, Severity: Info, Confidence: Decided, Scope: "Delta", Off: true,
			Spec:    "Incremental xDS",
			Means:   "A request that only changes names needs no nonce. This one repeats one that had its verdict; a server that compares nonces may drop it once newer responses are out.",
			Causes:  "Istio's own delta client repeats the last nonce in every request.",
			Next:    "Nothing, unless delta-stale-subscription-dropped is reported as well.",
			request: deltaSpontaneousWithNonce,
		},
		{
			ID: "delta-stale-subscription-dropped", Title: "names asked for with an older nonce were forgotten", Group: groupNonces,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "Delta",
			Spec:   "Incremental xDS",
			Means:  "The client subscribed to a name in a request that echoed an older response, because a newer one was on its way. In delta an outdated nonce must not cost the change of names, but the server has not mentioned the name since.",
			Causes: "istiod returns early when nonces differ (istio#53302), and so do servers that apply the state-of-the-world rule to delta.",
			Next:   "Compare with the server's log of the time. Until it is mended, a reconnect of the client makes it state all names again.",
			unanswered: func(x *event) {
				if x.wait.stale {
					x.report(x.wait.left, "%s was asked for in a request with the older nonce %q, and not mentioned for %v",
						list(x.wait.left), x.wait.from.Message.Nonce, round(x.k.timers.DNE))
				}
			},
		},
	}
}

func responseNonceMissing(x *event) {
	if x.resp.Nonce == "" && !x.sub.Exempt() {
		x.prove(proof{severity: Error, cause: "-", message: fmt.Sprintf("response %d of %s has no nonce", x.resp.Ordinal+1, x.sub.Type)})
	}
}

func responseNonceReused(x *event) {
	old := x.resp.Reused
	if x.resp.ReusedPast {
		x.prove(proof{severity: Warning, cause: "-", message: fmt.Sprintf("nonce %q was that of an earlier response already", x.resp.Nonce)})
	}
	if old == nil {
		return
	}
	p := proof{
		severity: Warning, cause: "-", seqs: []session.Seq{old.Seq, x.resp.Seq},
		message: fmt.Sprintf("nonce %q was that of entry %d already", x.resp.Nonce, old.Seq),
	}
	if old.Verdict == engine.Unjudged {
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
	p := proof{severity: Error, cause: "-", message: fmt.Sprintf("nonce %q is that of a response of %s on an earlier stream", clip(nonce), of.Type)}
	if at != 0 {
		p.seqs = []session.Seq{at, x.req.Seq}
		p.message = fmt.Sprintf("nonce %q is that of entry %d on an earlier stream", clip(nonce), at)
	}
	x.prove(p)
}

func nonceUnknown(x *event) {
	nonce := x.strange()
	if nonce == "" {
		return
	}
	of, at, never := x.k.Origin(x.sub, nonce)
	message := fmt.Sprintf("no response of %s had the nonce %q", x.sub.Type, clip(nonce))
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
				counted(len(v.types), "type", "types"), counted(v.streams, "stream", "streams"), clip(nonce))
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
	if v.types == nil {
		v.types = make(map[string]struct{})
	}
	if len(v.types) < maxInvented {
		v.types[x.sub.Key] = struct{}{}
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
	p := proof{severity: Error, cause: "-", seqs: []session.Seq{r.Before.Newest.Seq, r.Seq}}
	switch {
	case r.Before.LastEcho != nil:
		p.message = fmt.Sprintf("no nonce, although an earlier request echoed %q", r.Before.LastEcho.Nonce)
	case r.Ordinal > 0 && r.Before.Newest.Wanted != nil && x.now.Sub(r.Before.Newest.At) > x.flight():
		p.severity = Warning
		p.message = fmt.Sprintf("no nonce, although response %q came %v before", r.Before.Newest.Nonce, round(x.now.Sub(r.Before.Newest.At)))
	default:
		return
	}
	x.prove(p)
}

func nonceRegressed(x *event) {
	s, r := x.sub, x.req
	last := r.Before.LastEcho
	if r.Message.Kind == decode.SotwRequest && r.EchoedPast && last != nil && !s.Exempt() {
		x.prove(proof{
			severity: Warning, cause: "-", seqs: []session.Seq{last.Seq, r.Seq},
			message: fmt.Sprintf("nonce %q is that of a response long ago, although a request echoed the newer %q before", r.Message.Nonce, last.Nonce),
		})
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
		x.report(late, "%s was asked for only with an outdated nonce", list(late))
	}
}

func deltaSpontaneousWithNonce(x *event) {
	r := x.req
	if r.Message.Kind == decode.DeltaRequest && r.Echoed != nil && r.Verdict == engine.Unjudged && r.Message.Error == nil && r.Echoed.Verdict != engine.Unjudged && !x.sub.Exempt() {
		x.prove(proof{
			severity: Info, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq},
			message: fmt.Sprintf("nonce %q had its verdict already", r.Message.Nonce),
		})
	}
}
