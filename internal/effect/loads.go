package effect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Verdict is what an Envoy made of a file, as its counters say.
type Verdict uint8

// The verdicts. None is given where the counters leave it open.
const (
	Taken    Verdict = iota + 1
	Rejected         // it can be read, and Envoy does not take it
	Unread           // it cannot be read
	Unseen           // Envoy has not read it since it changed
)

// String is the word that people and the machine-readable forms read.
func (v Verdict) String() string {
	switch v {
	case Taken:
		return "taken"
	case Rejected:
		return "rejected"
	case Unread:
		return "unreadable"
	case Unseen:
		return "not-read"
	}
	return "unknown"
}

// Load is a file as it was last, and what became of it.
type Load struct {
	Stream  *engine.Stream
	Sub     *engine.Subscription // nil if it cannot be read
	Seq     session.Seq          // of its content
	Client  string
	Verdict Verdict
	Why     string // more about Rejected, if Envoy says it
}

// load is a file, of which one waits to learn what became of it.
type load struct {
	stream *engine.Stream
	sub    *engine.Subscription
	seq    session.Seq
	at     time.Time // when it was read
	typ    string
	names  []string
	hidden bool // the change is none that Envoy sees
	over   bool // what became of it is known, or cannot be
	unseen bool // that it was not read was said
	// bases are snapshots from before the change, the newest first. Those that are not
	// sure may be from after it.
	bases []snapshot
	// times are when it changed so that Envoy sees it, snapshots what counters were, the
	// oldest first.
	times     []time.Time
	snapshots []snapshot
}

// snapshot is what the counters of the subscription to a file were.
type snapshot struct {
	at   time.Time // of the answer
	sure bool
	counters
}

type counters struct{ attempts, taken, rejected, unread uint64 }

const (
	maxLoads     = 1 << 12
	maxStats     = 1 << 14 // that are remembered of a client
	maxSnapshots = 16
	// readingTakes is how long a client may take to read a file that was moved, and
	// noticing how much later a change may be noticed.
	readingTakes = 2 * time.Second
	noticing     = 500 * time.Millisecond
)

// loaded enters a change of a file, and then its content.
func (a *Account) loaded(e *session.Entry, c *engine.Change) {
	if a.loads == nil {
		a.loads = map[session.StreamID]*load{}
	}
	l := a.loads[e.Stream]
	if l == nil {
		if len(a.loads) >= maxLoads {
			return
		}
		l = &load{}
		a.loads[e.Stream] = l
	}
	if e.Kind == session.KindHeader {
		l.hidden = session.Get(e.Headers, xds.FileSeen) == "no"
		return
	}
	first := l.stream == nil
	l.stream, l.seq, l.at, l.over, l.unseen = c.Stream, e.Seq, e.Time, first, false
	if names := c.Message; c.Type != "" && names != nil && len(names.Resources) > 0 { // else what it was last
		l.typ, l.sub, l.names = c.Type, c.Sub, nil
		for i := range names.Resources {
			if len(l.names) < maxRefs {
				l.names = append(l.names, names.Resources[i].Name)
			}
		}
	}
	if first { // the client may have read it before
		return
	}
	began := e.Time
	if !e.Start.IsZero() {
		began = e.Start
	}
	if !l.hidden {
		l.times = append(l.times, e.Time)
		l.times = l.times[max(len(l.times)-maxSnapshots, 0):]
	}
	l.bases = nil
	for _, s := range slices.Backward(l.snapshots) {
		if s.at.Before(began) {
			s.sure = s.at.Before(began.Add(-noticing))
			if l.bases = append(l.bases, s); s.sure {
				break
			}
		}
	}
	l.over = len(l.bases) == 0
}

// reader is the client that reads the files: the only one whose counters are known.
func (a *Account) reader() (only *client) {
	for _, cl := range a.clients {
		if len(cl.stats) > 0 {
			if only != nil {
				return nil
			}
			only = cl
		}
	}
	return only
}

// stat takes a counter of a client.
func (cl *client) stat(r *decode.ResourceStatus) {
	if cl.stats == nil {
		cl.stats = map[string]uint64{}
	}
	if _, known := cl.stats[r.Name]; !known && len(cl.stats) >= maxStats {
		return
	}
	for s := protoscan.Of(r.Body); s.Next(); {
		if s.Num == 2 {
			cl.stats[r.Name] = s.Varint()
		}
	}
}

// routes are the beginnings of the counters of subscriptions to routes, by the name of
// these.
func (cl *client) routes() map[string][]string {
	out := map[string][]string{}
	for stat := range cl.stats {
		prefix, is := strings.CutSuffix(stat, "update_attempt")
		if _, name, of := strings.Cut(prefix, ".rds."); is && of {
			name = strings.TrimSuffix(name, ".")
			out[name] = append(out[name], prefix)
		}
	}
	return out
}

// counters are those of a file; nil if it is not known which these are.
func (cl *client) counters(l *load, routes map[string][]string) *counters {
	var prefixes []string
	switch l.typ {
	case "LDS":
		prefixes = append(prefixes, "listener_manager.lds.")
	case "CDS":
		prefixes = append(prefixes, "cluster_manager.cds.")
	}
	for _, name := range l.names {
		switch l.typ {
		case "EDS":
			prefixes = append(prefixes, "cluster."+name+".")
		case "SDS":
			prefixes = append(prefixes, "sds."+name+".")
		case "RDS":
			prefixes = append(prefixes, routes[name]...)
		}
	}
	var c *counters
	for _, prefix := range prefixes {
		attempts, is := cl.stats[prefix+"update_attempt"]
		if !is {
			continue
		}
		if c == nil {
			c = &counters{}
		}
		c.attempts += attempts
		c.taken += cl.stats[prefix+"update_success"]
		c.rejected += cl.stats[prefix+"update_rejected"]
		c.unread += cl.stats[prefix+"update_failure"]
	}
	return c
}

// settleLoads says what became of files, once a client has said what it holds.
func (a *Account) settleLoads(k *engine.Engine, cl *client, from time.Time, at Moment) {
	if len(a.loads) == 0 || a.reader() != cl {
		return
	}
	streams := map[string]bool{} // types that the client asks a server for
	for s := range k.TypesOfClient(cl.id) {
		streams[s.Type] = streams[s.Type] || s.Stream.Method.Variant != xds.VariantFile
	}
	routes := cl.routes()
	for _, l := range a.loads {
		now := cl.counters(l, routes)
		if now == nil || streams[l.typ] { // these are of another subscription
			l.over, l.snapshots = true, nil
			continue
		}
		if n := len(l.snapshots); n > 0 && now.attempts < l.snapshots[n-1].attempts { // it was started again
			l.over, l.snapshots = true, nil
		}
		l.snapshots = append(l.snapshots, snapshot{at: at.At, counters: *now})
		l.snapshots = l.snapshots[max(len(l.snapshots)-maxSnapshots, 0):]
		if v, is := l.verdict(now, from); is {
			if v.Client = cl.id; v.Verdict == Rejected {
				v.Why = cl.rejection(l, at.Seq)
			}
			a.settled = append(a.settled, v)
		}
	}
	slices.SortFunc(a.settled, func(a, b Load) int { return cmp.Compare(a.Seq, b.Seq) })
}

// verdict says what became of a file if that can be told now.
func (l *load) verdict(now *counters, from time.Time) (v Load, is bool) {
	if l.over || !from.After(l.at) {
		return v, false
	}
	v = Load{Stream: l.stream, Sub: l.sub, Seq: l.seq}
	late := from.Sub(l.at) >= readingTakes
	for i := range l.bases {
		b := &l.bases[i]
		d := counters{now.attempts - b.attempts, now.taken - b.taken, now.rejected - b.rejected, now.unread - b.unread}
		wanted := uint64(0)
		for _, at := range l.times {
			if at.After(b.at) {
				wanted++
			}
		}
		switch {
		case d.attempts == 0 && b.sure && late && !l.unseen:
			v.Verdict, l.unseen = Unseen, true
			return v, true
		case d.attempts == 0 || d.attempts < wanted:
			continue
		case l.hidden: // it read something, and maybe this
		case d.taken >= d.attempts:
			v.Verdict = Taken
		case d.rejected >= d.attempts:
			v.Verdict = Rejected
		case d.unread >= d.attempts:
			v.Verdict = Unread
		}
		l.over = true
		return v, v.Verdict != 0
	}
	return v, false
}

// rejection is why a client rejected what is in a file, if an entry says so. What was
// said before may be of what it rejected before.
func (cl *client) rejection(l *load, at session.Seq) string {
	for _, name := range l.names {
		if r := cl.resources[key{l.typ, decode.NormalName(name)}]; r != nil && r.at.Seq == at {
			if why := failure(r); why != "" {
				return why
			}
		}
	}
	return ""
}

// Loads are the files of which the last entry says what became of them.
func (a *Account) Loads() []Load { return a.settled }
