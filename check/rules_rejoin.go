package check

import (
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// reconnected starts to wait for the types of the stream before.
func reconnected(x *event) {
	t := x.stream
	if t.Previous == nil || t.NodeAt != x.req.Seq || t.Lost || !t.ADS() {
		return
	}
	x.after(x.k.timers.Rejoin, typesMissing)
}

func typesMissing(x *event) {
	t, p := x.stream, x.stream.Previous
	if t.Ended || t.Lost || p == nil || p.Lost || x.beganAnew() {
		return
	}
	for _, was := range p.Order {
		if now := t.Subs[was.Key]; now != nil && now.Requests > 0 || was.Lost || was.Exempt() || !was.Active() || was.Last == nil {
			continue
		}
		names := slices.Sorted(was.Names.All())
		if t.GRPCClient() {
			// Its last watcher may have left while it was disconnected.
			by := t.Referred(was.Type, nameSet(names))
			if len(by) == 0 {
				continue
			}
			names = slices.Sorted(maps.Keys(by))
		}
		what := words.List(names)
		if was.Wild != engine.NotWild {
			what = "everything"
		}
		x.provef(proof{severity: Warning, typ: was.Type, cause: "-", names: names, seqs: []session.Seq{was.Last.Seq, x.req.Seq}},
			"%s was not asked for within %v of the reconnect; before it the client wanted %s", was.Type, words.Round(x.k.timers.Rejoin), what)
	}
}

// beganAnew says whether the client states no version of any type, although on
// the stream before it had accepted some: it has been restarted.
func (x *event) beganAnew() bool {
	t, p := x.stream, x.stream.Previous
	if t.OtherProgram(p) {
		return true
	}
	forgot := false
	for _, s := range t.Order {
		was := p.Subs[s.Key]
		if s.First == nil || was == nil {
			continue
		}
		if s.First.Message.Version != "" || len(s.First.Message.InitialVersions) > 0 {
			return false
		}
		forgot = forgot || was.Accepted != nil && (was.Accepted.Version != "" && !t.Delta() || t.Delta() && was.Have.Len() > 0)
	}
	return forgot
}

func initialVersionsLate(x *event) {
	r := x.req
	if r.Message.Kind == decode.DeltaRequest && len(r.Message.InitialVersions) > 0 && r.Ordinal > 0 {
		x.provef(proof{severity: Error, cause: "-", seqs: []session.Seq{x.sub.First.Seq, r.Seq}},
			"initial_resource_versions of %s in request %d of %s", words.Counted(len(r.Message.InitialVersions), "resource", "resources"), r.Ordinal+1, x.sub.Type)
	}
}

func initialVersionsNotSubscribed(x *event) {
	s, r := x.sub, x.req
	if r.Message.Kind != decode.DeltaRequest || r.Ordinal > 0 || s.Wild != engine.NotWild || s.Exempt() || s.OtherNames() {
		return
	}
	var names []string
	for i := range r.Message.InitialVersions {
		v := &r.Message.InitialVersions[i]
		if n := decode.NormalName(v.Name); v.Version != "" && !s.Names.Has(n) && !s.Names.Covers(n) {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		x.provef(proof{severity: Warning, names: names, cause: "-"}, "a version of %s is stated, but it is not subscribed to", words.List(names))
	}
}

// resumed is what a server sends after a client has stated what it has.
type resumed struct {
	batches [][]*engine.Resource
	count   int
	// excused are names that were sent or mentioned for another reason than
	// that the server sends everything.
	excused map[string]struct{}
}

// maxResumed bounds the resources that are kept until it is known what is
// missing.
const maxResumed = 1 << 17

func noteResumed(x *event) {
	s, r := x.sub, x.req
	w := wishesOf(s).resumed
	if r.Ordinal == 0 && len(s.Initial) > 1 && !s.Exempt() && !s.OtherNames() {
		wishesOf(s).resumed = &resumed{}
		x.after(x.k.timers.DNE, removalMissed)
		return
	}
	if w != nil {
		for _, n := range r.Message.Subscribe {
			w.excuse(n)
		}
	}
}

func (w *resumed) excuse(name string) {
	if len(w.excused) < maxWished {
		put(&w.excused, decode.NormalName(name), struct{}{})
	}
}

func noteResent(x *event) {
	w, n := wishesOf(x.sub).resumed, x.resp
	if w == nil {
		return
	}
	if w.count += len(n.Resolved); w.count > maxResumed || len(w.batches) >= engine.MaxNonces {
		wishesOf(x.sub).resumed = nil
		return
	}
	for _, i := range n.Heartbeats {
		w.excuse(n.Message.Resources[i].Name)
	}
	for i := range n.Message.ResourceErrors {
		w.excuse(n.Message.ResourceErrors[i].Name)
	}
	w.batches = append(w.batches, n.Resolved)
}

// removalMissed compares what the client said it has with what it got.
func removalMissed(x *event) {
	s, w := x.sub, wishesOf(x.sub).resumed
	wishesOf(s).resumed = nil
	if w == nil || w.count == 0 || x.stream.Ended || s.Lost {
		return
	}
	sent := make(map[string]*engine.Resource, w.count)
	for _, b := range w.batches {
		for _, it := range b {
			sent[it.Name] = it
		}
	}
	var missing []string
	same := make(map[string]struct{}) // sent at the version that the client has
	resent := 0
	for n, version := range s.Initial {
		_, excused := w.excused[n]
		switch it := sent[n]; {
		case it != nil && !excused:
			resent++
			if it.Version == version {
				same[n] = struct{}{}
			}
		case it == nil && !excused && s.Have.Get(n) != nil && s.Wants(n):
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 || len(missing) > resent || len(same) == 0 {
		return
	}
	// What belongs to a parent that was sent is sent with it.
	for n, r := range x.stream.Referred(s.Type, same) {
		if r.Sub.Responses > 0 {
			delete(same, n)
		}
	}
	if len(same) == 0 {
		return
	}
	slices.Sort(missing)
	x.provef(proof{severity: x.relaxed(Warning), names: missing, seqs: []session.Seq{x.req.Seq}},
		"%s neither sent nor removed within %s of the reconnect, although %s sent again, %d of them as the client has it", words.List(missing), words.Round(x.k.timers.DNE), words.Counted(resent, "other was", "others were"), len(same))
}
