package check

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// acks is what the rules of ACK and NACK remember of one type on one stream.
type acks struct {
	late, held deadline
	flipped    *engine.Response // whose verdict was changed last
	flood      [2]repeated      // the last two requests that differ

	nack    *refusal // the newest, until the next response comes
	resends []time.Time
	refused []refused // oldest first
	reasons []string  // for which the client rejected
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
	p, when := proof{severity: Warning, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq}}, ""
	if len(r.Message.Names) == 0 && r.Before.EverNamed && r.Before.Count == 0 && r.Before.Wild == engine.NotWild {
		p.severity, p.cause, when = Info, "unwatched", ", after all names had been given up"
	}
	if !x.again(p.severity, p.cause) {
		x.provef(p, "nonce %q of version %q is answered with version %q and no error_detail%s",
			words.Clip(r.Message.Nonce), words.Clip(r.Echoed.Version), words.Clip(r.Message.Version), when)
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
	whose := fmt.Sprintf("no response of %s had it", s.Type)
	for _, o := range x.stream.Order {
		if o != s && o.Versions.Has(engine.Short(v)) {
			whose = "it is one of " + o.Type
			break
		}
	}
	x.provef(proof{severity: Error, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq}},
		"version %q in answer to nonce %q, whose version is %q; %s", words.Clip(v), words.Clip(r.Message.Nonce), words.Clip(r.Echoed.Version), whose)
}

func nackWithAcceptedVersion(x *event) {
	r := x.req
	if r.Message.Kind != decode.SotwRequest || r.Message.Error == nil || r.Echoed == nil || r.Message.Version == "" ||
		r.Message.Version != r.Echoed.Version || x.sub.Exempt() || x.again(Info, "-") {
		return
	}
	x.provef(proof{severity: Info, cause: "-", seqs: []session.Seq{r.Echoed.Seq, r.Seq}},
		"nonce %q rejected with its own version %q", words.Clip(r.Message.Nonce), words.Clip(r.Message.Version))
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
	x.provef(proof{severity: Warning, cause: "-", seqs: []session.Seq{n.Seq, first, r.Seq}},
		"nonce %q (version %q) was %s in entry %d, and is %s now", words.Clip(n.Nonce), words.Clip(n.Version), was, first, is)
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
	x.provef(proof{severity: Warning, cause: "-"},
		"the same request %d times within %v: version %q, nonce %q, %s", maxRepeats+1, words.Round(took), words.Clip(x.req.Message.Version), words.Clip(x.req.Message.Nonce), words.Counted(x.req.Named(), "name", "names"))
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
