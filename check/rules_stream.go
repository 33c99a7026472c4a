package check

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const defaultLimit = 4 << 20

// sizes is what the rule about sizes remembers of a stream.
type sizes struct{ over *oversize }

// oversize is the first message on a stream above the default limit.
type oversize struct {
	seq   session.Seq
	typ   string
	size  int64
	fault Fault
}

func messageOverLimit(x *event) {
	size, fault := int64(0), ServerFault
	if x.resp != nil {
		size = x.resp.Size
	} else {
		size, fault = x.req.Size, ClientFault
	}
	if size <= defaultLimit {
		return
	}
	if sizesOf(x.stream).over == nil {
		sizesOf(x.stream).over = &oversize{seq: x.seq(), typ: x.sub.Type, size: size, fault: fault}
	}
	p := proof{severity: Warning, cause: string(fault), fault: fault, message: fmt.Sprintf("a message of %s; gRPC receives 4 MiB unless told otherwise", mebibytes(size))}
	if fault == ServerFault && x.stream.EnvoyClient() {
		p.severity = Info
	}
	x.prove(p)
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func endedOverLimit(x *event) {
	o := sizesOf(x.stream).over
	if st := x.entry.Status; o == nil || st == nil || st.Code != codeResourceExhausted {
		return
	}
	x.provef(proof{severity: Error, typ: o.typ, cause: string(o.fault), fault: o.fault, seqs: []session.Seq{o.seq, x.entry.Seq}},
		"a message of %s, after which the stream ended with RESOURCE_EXHAUSTED", mebibytes(o.size))
}

// Status codes of gRPC that rules ask for.
const (
	codeInvalidArgument   = 3
	codeNotFound          = 5
	codePermissionDenied  = 7
	codeResourceExhausted = 8
	codeUnimplemented     = 12
	codeUnauthenticated   = 16
)

// forEver is how many streams in a row the server must end in vain, until it is
// no accident whatever the status.
const forEver = 3

// refused says with which status the server refused a stream, or "". Where the
// status alone does not say that a retry is in vain, times is how often in a row
// it was.
func (x *event) refused() (status string, times int) {
	if x.entry.Status == nil || x.entry.Side != session.Server || x.stream.Responses > 0 || x.stream.Lost || !x.stream.Brief(x.now) {
		return "", 0
	}
	switch code := x.entry.Status.Code; code {
	case codeInvalidArgument, codeNotFound, codePermissionDenied, codeResourceExhausted, codeUnimplemented, codeUnauthenticated:
		return words.Code(code), 0
	}
	if of := x.k.Peers.ByKey[engine.KeyOf(x.stream)]; of != nil && of.Refused >= forEver {
		return words.Code(x.entry.Status.Code), of.Refused
	}
	return "", 0
}

func streamRejected(x *event) {
	word, times := x.refused()
	if word == "" || !x.stream.Discovery() && x.stream.Method.Variant != xds.VariantLRS {
		return
	}
	p := proof{
		severity: Warning, typ: x.stream.Method.Type, cause: x.stream.Method.Path + word, seqs: []session.Seq{x.stream.OpenAt, x.entry.Seq},
		message: fmt.Sprintf("%s was refused with %s", x.stream.Method.Name, word),
	}
	if times > 0 {
		p.sums = true
		p.message = fmt.Sprintf("%s was ended %d times in a row before any response, now with %s", x.stream.Method.Name, times, word)
	}
	if m := x.entry.Status.Message; m != "" {
		p.same = words.Said(m)
		p.message += ": " + p.same
	}
	if c := x.entry.Status.Code; c == codeUnimplemented || c == codeInvalidArgument {
		p.severity = Error
	}
	x.prove(p)
}

// soon is how shortly after its first response a stream must end to count as
// closed at once.
const soon = 5 * time.Second

func serverClosedStream(x *event) {
	t := x.stream
	if x.entry.Side != session.Server || !t.Discovery() || !t.HalfClosed.IsZero() || t.Requests == 0 {
		return
	}
	if refused, _ := x.refused(); refused != "" {
		return
	}
	if t.Lost && t.Responses == 0 {
		return // it may have been refused, or answered
	}
	quick := 0
	if of := x.k.Peers.ByKey[engine.KeyOf(t)]; of != nil {
		if t.Responses > 0 && x.now.Sub(t.FirstResponse) <= soon {
			of.QuickEnds++
		} else if t.Responses > 0 {
			of.QuickEnds = 0
		}
		quick = of.QuickEnds
	}
	code := "a reset"
	if st := x.entry.Status; st != nil && st.Code >= 0 {
		code = words.Code(st.Code)
	}
	p := proof{
		severity: Info, typ: t.Method.Type, cause: t.Method.Path, same: code,
		message: fmt.Sprintf("%s ended by the server with %s after %v", t.Method.Name, code, words.Round(x.now.Sub(t.Opened))),
	}
	if quick >= 3 {
		p.severity = Warning
		p.message = fmt.Sprintf("%s ended by the server %d times in a row within %s of its first response, now with %s", t.Method.Name, quick, words.Round(soon), code)
	}
	x.prove(p)
}

// storm is the streams that one client opened without getting a response.
type storm struct {
	opens []time.Time // the last of them
	seqs  []session.Seq
}

const (
	maxStorms = 4096
	stormKept = 32
)

func reconnectStorm(x *event) {
	t := x.stream
	if !t.Discovery() || t.Lost {
		return
	}
	who, _, err := net.SplitHostPort(t.Peer)
	if err != nil {
		who = t.Peer
	}
	if t.Node != nil {
		who = t.Node.ID
	}
	key := []string{who, t.Server, t.Method.Path}
	if len(t.Order) > 0 && t.Order[0].First != nil {
		s := t.Order[0]
		key = append(key, s.Type)
		if m := s.First.Message; s.Named() {
			key = append(key, slices.Concat(m.Names[:min(len(m.Names), 8)], m.Subscribe[:min(len(m.Subscribe), 8)])...)
		}
	}
	id := engine.Short(strings.Join(key, "\x00"))
	if t.Responses > 0 {
		delete(x.k.storms, id)
		return
	}
	w := x.k.storms[id]
	if w == nil {
		if len(x.k.storms) >= maxStorms {
			clear(x.k.storms)
		}
		w = &storm{}
		x.k.storms[id] = w
	}
	w.opens, w.seqs = keepLast(w.opens, t.Opened, stormKept), keepLast(w.seqs, t.OpenAt, stormKept)
	if len(w.opens) < x.k.timers.StormCount {
		return
	}
	gaps := make([]time.Duration, 0, len(w.opens)-1)
	for i := 1; i < len(w.opens); i++ {
		gaps = append(gaps, w.opens[i].Sub(w.opens[i-1]))
	}
	slices.Sort(gaps)
	median := gaps[len(gaps)/2]
	if median >= x.k.timers.StormGap {
		return
	}
	x.provef(proof{severity: Warning, typ: t.Method.Type, cause: id, seqs: append(slices.Clone(w.seqs), x.entry.Seq)},
		"%d streams opened without getting a response, half of them within %v of the one before", len(w.opens), words.Round(median))
}

func halfClosed(x *event) {
	t := x.stream
	if x.entry.Kind != session.KindHalfClose || t == nil || !t.Discovery() || t.Lost || !t.WantsAnything() {
		return
	}
	at := x.entry.Seq
	x.after(x.flight(), func(x *event) {
		if !t.Ended {
			x.provef(proof{severity: Info, typ: t.Method.Type, cause: "-", seqs: []session.Seq{at}},
				"the client ended its side in entry %d, and still waits for what it subscribed to", at)
		}
	})
}

func requestAfterHalfClose(x *event) {
	if !x.stream.HalfClosed.IsZero() {
		x.prove(proof{
			severity: Info, cause: "-", seqs: []session.Seq{x.stream.HalfClosedAt, x.req.Seq},
			message: "a request after the client had half-closed the stream",
		})
	}
}
