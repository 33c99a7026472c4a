package check

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const groupVerdicts = "ACK and NACK"

// verdictRules look at what clients say of responses, and at what servers make
// of that.
func verdictRules() []*Rule { return slices.Concat(ackRules(), nackRules(), repeatRules()) }

// acks is what the rules of ACK and NACK remember of one type on one stream.
type acks struct {
	late, held vigil
	flipped    *engine.Response // whose verdict was changed last
	flood      [2]repeated      // the last two requests that differ

	nack    *refusal // the newest, until the next response comes
	resends []time.Time
	refused []refused // oldest first
	reasons []string  // for which the client rejected
}

// ackRules look at verdicts that are missing, or say something odd.
func ackRules() []*Rule {
	return []*Rule{
		{
			ID: "ack-missing", Title: "a response that was never answered", Group: groupVerdicts,
			Fault: ClientFault, Severity: Warning, Confidence: Timed, Scope: "all",
			Spec:    "ACK and NACK semantics summary",
			Means:   "The client has neither accepted nor rejected the response, nor a newer one of its type. Nobody knows which configuration it runs. Servers that wait for the verdict, as go-control-plane does, send it nothing more of this type.",
			Causes:  "A client that has got stuck. gRPC for Java said nothing once its last subscription of the type was gone (grpc-java#11232). A test client that does not know it has to answer.",
			Next:    "See whether the client answers other types. If it does, look in its log for this one; if it says nothing at all, it hangs, or its connection is dead.",
			request: stillThere, response: ackMissing,
		},
		{
			ID: "cds-ack-held-by-warming", Title: "the verdict on clusters waits for endpoints or secrets", Group: groupVerdicts,
			Fault: ServerFault, Severity: Warning, Confidence: Timed, Scope: "ADS",
			Spec:    "Resource warming",
			Means:   "Envoy says nothing about a response of clusters while one of them warms up. The resources named here were asked for and did not come, so the verdict does not come either, and the server can change no cluster meanwhile. Where nothing was asked for, the client is at fault, and ack-missing says so: Envoy may have found a part of the clusters wrong, and keep that to itself.",
			Causes:  "Endpoints or a secret that the server does not have under this name, or endpoints that it does not repeat when only their cluster changed (go-control-plane#1035). Envoy gives up after initial_fetch_timeout, 15 seconds by default; where that is 0, as with Istio, it waits for ever (envoy PR#47067).",
			Next:    "Let the server send what is named here, empty if there is nothing. The cluster itself is in cluster-warming-starved.",
			request: func(x *event) { x.warm() }, response: ackHeld,
		},
		{
			ID: "nack-without-error-detail", Title: "neither a clear ACK nor a clear NACK", Group: groupVerdicts,
			Fault: ClientFault, Severity: Warning, Confidence: Decided, Scope: "SotW",
			Spec:    "NACK; ACK and NACK semantics summary",
			Means:   "The client echoes the nonce with its old version and gives no error. By the old way to read it that is a rejection, by the present one it is not. Servers differ, and nobody learns the reason.",
			Causes:  "A client that was written before error_detail. Envoy answers this way when it gets resources of a type that it no longer watches (envoy#10046): then nothing was rejected, and it is only a note.",
			Next:    "Look for a rejection in the client's log at that moment. If there is one, the client should fill error_detail.",
			request: nackWithoutErrorDetail,
		},
		{
			ID: "ack-version-unknown", Title: "a version that nobody sent", Group: groupVerdicts,
			Fault: ClientFault, Severity: Error, Confidence: Decided, Scope: "SotW",
			Spec:    "ACK/NACK and resource type instance version",
			Means:   "The client says that it runs a version which the server never sent on this stream and which the client did not bring along. Its verdict cannot be understood.",
			Causes:  "A client that mixes up the versions of its types, or that counts versions itself. An agent in between that answers for the client.",
			Next:    "Compare the version with those of the other types on the stream.",
			request: ackVersionUnknown,
		},
		{
			ID: "nack-with-accepted-version", Title: "a rejection with the version that it rejects", Group: groupVerdicts,
			Fault: ClientFault, Severity: Info, Confidence: Decided, Scope: "SotW",
			Spec:    "ACK and NACK, detecting NACK from error_detail instead of version and nonce",
			Means:   "The request has an error and the version of the very response that it answers. It is a rejection all the same. A server that compares versions only takes it for an ACK.",
			Causes:  "A name was added at an unchanged version and its resource was bad. gRPC's C core, which moves its version on when a part of the response was good. Envoy, when the error of one response travels with the next one's nonce.",
			Next:    "Nothing for the client. Check that the server looks at error_detail.",
			request: nackWithAcceptedVersion,
		},
	}
}

// repeatRules look at requests that say again, or take back, what was said.
func repeatRules() []*Rule {
	return []*Rule{
		{
			ID: "verdict-flipped", Title: "two verdicts on one response", Group: groupVerdicts,
			Fault: ClientFault, Severity: Warning, Confidence: Decided, Scope: "SotW",
			Spec:    "ACK and NACK semantics summary",
			Means:   "The client rejected the response and later says that it runs it, or the other way round. The server has acted on the first word by then, and nobody can tell what the client has now.",
			Causes:  "A client that takes the newest version it saw, not the one it runs, when it changes its names. Or one that validates twice, at once and when it applies.",
			Next:    "Ask the client what it runs (config_dump, CSDS). Believe that.",
			request: verdictFlipped,
		},
		{
			ID: "request-flood", Title: "the same request over and over", Group: groupVerdicts,
			Fault: ClientFault, Severity: Warning, Confidence: Timed, Scope: "all",
			Spec:    "When to send an update",
			Means:   "The client sends one and the same request many times within seconds. A few repeats are normal when Envoy starts; this is a loop, and it costs both sides.",
			Causes:  "A client that asks again because it got no resource, without waiting. Envoy did so when endpoints came before their cluster (envoy#12818).",
			Next:    "Look at the response before the first of them: the client probably cannot use it, or waits for what it lacks.",
			request: requestFlood,
		},
	}
}

func nackWithoutErrorDetail(x *event) {
	s, r := x.sub, x.req
	if r.Verdict != engine.Unclear || r.Ordinal == 0 || s.Exempt() {
		return
	}
	old := r.Before.Accepted != nil && r.Message.Version == r.Before.Accepted.Version
	if !old && r.Message.Version != s.First.Message.Version {
		return
	}
	p := proof{
		severity: Warning, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq},
		message: fmt.Sprintf("nonce %q of version %q is answered with version %q and no error_detail",
			clip(r.Message.Nonce), clip(r.Echoed.Version), clip(r.Message.Version)),
	}
	if len(r.Message.Names) == 0 && r.Before.EverNamed && r.Before.Count == 0 && r.Before.Wild == engine.NotWild {
		p.severity, p.cause = Info, "unwatched"
		p.message += ", after all names had been given up"
	}
	if !x.again(p.severity, p.cause) {
		x.prove(p)
	}
}

func ackVersionUnknown(x *event) {
	s, r := x.sub, x.req
	v := r.Message.Version
	if r.Message.Kind != decode.SotwRequest || v == "" || s.Exempt() || s.Forgotten || s.Versions.Full() ||
		r.Verdict != engine.Unclear && r.Verdict != engine.NACKed || v == s.First.Message.Version {
		return
	}
	if s.Versions.Has(engine.Short(v)) {
		return
	}
	p := proof{
		severity: Error, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq},
		message: fmt.Sprintf("version %q in answer to nonce %q, whose version is %q; no response of %s had it", clip(v), clip(r.Message.Nonce), clip(r.Echoed.Version), s.Type),
	}
	for _, o := range x.stream.Order {
		if o != s && o.Versions.Has(engine.Short(v)) {
			p.message = fmt.Sprintf("version %q in answer to nonce %q, whose version is %q; it is one of %s", clip(v), clip(r.Message.Nonce), clip(r.Echoed.Version), o.Type)
			break
		}
	}
	x.prove(p)
}

func nackWithAcceptedVersion(x *event) {
	r := x.req
	if r.Message.Kind != decode.SotwRequest || r.Message.Error == nil || r.Echoed == nil || r.Message.Version == "" ||
		r.Message.Version != r.Echoed.Version || x.sub.Exempt() || x.again(Info, "-") {
		return
	}
	x.prove(proof{
		severity: Info, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq},
		message: fmt.Sprintf("nonce %q rejected with its own version %q", clip(r.Message.Nonce), clip(r.Message.Version)),
	})
}

func verdictFlipped(x *event) {
	r := x.req
	n, was, is := r.Echoed, "accepted", "rejected"
	if r.Message.Kind != decode.SotwRequest || n == nil || acksOf(x.sub).flipped == n || x.sub.Exempt() {
		return
	}
	first := r.Overrules
	if by := n.JudgedBy; first == 0 {
		if by == nil || r.Verdict != engine.Unjudged || n.Verdict != engine.NACKed || r.Message.Version != n.Version || by.Message.Version == n.Version {
			return
		}
		first, was, is = by.Seq, "rejected", "accepted"
	}
	acksOf(x.sub).flipped = n
	x.prove(proof{
		severity: Warning, cause: "-", seqs: []session.Seq{n.Seq, first, r.Seq},
		message: fmt.Sprintf("nonce %q (version %q) was %s in entry %d, and is %s now", clip(n.Nonce), clip(n.Version), was, first, is),
	})
}

// repeated is a request and when it came again.
type repeated struct {
	key   uint64
	first time.Time
	times []time.Time // from the second time on
}

// maxRepeats is how often one request may come within Timers.Loop.
const maxRepeats = 20

func requestFlood(x *event) {
	if x.sub.Exempt() {
		return
	}
	last, key := &acksOf(x.sub).flood, x.requestKey()
	i := slices.IndexFunc(last[:], func(f repeated) bool { return f.key == key && !f.first.IsZero() })
	if i < 0 {
		last[1], last[0] = last[0], repeated{key: key, first: x.now}
		return
	}
	f := &last[i]
	f.times = append(f.times, x.now)
	since := x.now.Add(-x.k.timers.Loop)
	for len(f.times) > 0 && f.first.Before(since) {
		f.first, f.times = f.times[0], f.times[1:]
	}
	if len(f.times) < maxRepeats {
		return
	}
	took := x.now.Sub(f.first)
	f.first, f.times = x.now, nil
	if x.again(Warning, "-") {
		return
	}
	x.prove(proof{
		severity: Warning, cause: "-",
		message: fmt.Sprintf("the same request %d times within %v: version %q, nonce %q, %s", maxRepeats+1, round(took), clip(x.req.Message.Version), clip(x.req.Message.Nonce),
			counted(x.req.Named(), "name", "names")),
	})
}

// requestKey is equal for requests that say the same.
func (x *event) requestKey() uint64 {
	m := x.req.Message
	var h maphash.Hash
	h.SetSeed(x.k.Contents.Seeds[0])
	add := func(list ...string) {
		for _, s := range list {
			h.WriteString(s)
			h.WriteByte(0)
		}
		h.WriteByte(1)
	}
	add(m.Version, m.Nonce)
	if l := x.req.List; l != nil && m.Kind == decode.SotwRequest {
		maphash.WriteComparable(&h, l.Hash)
	} else {
		add(m.Names...)
	}
	add(m.Subscribe...)
	add(m.Unsubscribe...)
	if m.Error != nil {
		maphash.WriteComparable(&h, m.Error.Code)
		add(m.Error.Message)
	}
	return h.Sum64()
}
