package columns

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

// nodeBytes bounds what is remembered of who clients are.
const nodeBytes = 8 << 20

// told is what a finding or a client does not say itself: who it was.
type told struct {
	nodes    recent.Map[string, who]
	findings map[string]who
	room     int // for so many of them; then those that the Checker has forgotten go
}

func newTold() told { return told{findings: make(map[string]who), room: leastRoom} }

const leastRoom = 1 << 14

func (t *told) step(k *check.Checker, c *check.Change) {
	if len(t.findings) >= t.room {
		t.sweep(k)
	}
	if n := c.Node; n != nil && n.ID != "" && n.ID == c.Client {
		if was, known := t.nodes.Get(n.ID); !known || was.UserAgentVersion != n.UserAgentVersion || was.UserAgentName != n.UserAgent || was.NodeCluster != n.Cluster {
			w := who{Client: n.ID}
			w.node(n)
			t.nodes.Put(n.ID, w, int64(w.bytes()+64), nodeBytes)
		}
	}
	for i := range c.Findings {
		f := &c.Findings[i]
		key := findingKey(f)
		if _, known := t.findings[key]; known || f.Client == "" {
			continue
		}
		if w, known := t.nodes.Get(f.Client); known {
			t.findings[key] = w
		}
	}
}

// sweep forgets who had the findings that are forgotten.
func (t *told) sweep(k *check.Checker) {
	kept := make(map[string]who)
	for _, f := range k.Findings() {
		key := findingKey(&f)
		if w, known := t.findings[key]; known {
			kept[key] = w
		}
	}
	t.findings, t.room = kept, max(leastRoom, 2*len(kept))
}

// findingKey tells the findings of a Checker apart. What changes of one that is proved
// again is not in it.
func findingKey(f *check.Finding) string {
	return f.Rule.ID + "\x00" + f.Client + "\x00" + f.Type + "\x00" + strconv.FormatInt(f.At.UnixNano(), 10) + "\x00" + strings.Join(f.Names, "\x00")
}

// standing adds the files to a part that tell of the recording as a whole.
func (x *export) standing(p *part) error {
	if x.last < x.there.end() {
		if err := x.left(p); err != nil {
			return err
		}
		return x.findings(p)
	}
	if !x.begun {
		x.begun, p.old = true, x.there.standing
	}
	x.there.standing = nil
	day := dateOf(x.at)
	open, err := x.stillOpen()
	if err != nil {
		return err
	}
	if len(open) > 0 {
		to := filepath.Join(x.d.root, place(Connections, x.of.Cluster, day), x.base+openMark+ending)
		if err := one(x, p, Connections, to, open); err != nil {
			return err
		}
		x.there.standing = append(x.there.standing, to)
	}
	if clients := x.clients(); len(clients) > 0 {
		to := filepath.Join(x.d.root, place(Clients, x.of.Cluster, day), x.base+ending)
		if err := one(x, p, Clients, to, clients); err != nil {
			return err
		}
		x.there.standing = append(x.there.standing, to)
	}
	return x.findings(p)
}

// clients are the rows of where clients stand.
func (x *export) clients() []clientRow {
	var out []clientRow
	for _, c := range x.checker.Status() {
		w, named := x.told.nodes.Get(c.Client)
		base := clientRow{
			Proxy: text(x.of.Proxy), Recording: text(x.of.Name), AsOf: microsOf(x.at), Streams: int32(c.Streams),
			Since: micros(c.Since), Last: micros(c.Last), Gone: micros(c.Gone), GoneWhy: text(c.Why),
		}
		switch {
		case named:
			base.who = w
			base.Client = text(c.Client)
		case strings.HasPrefix(c.Client, "conn "): // in the words of the engine
			base.Address = c.Client
		default:
			base.Client = text(c.Client)
		}
		if c.Agent != "" {
			base.UserAgentName, base.UserAgentVersion = text(c.Agent), text(c.Version)
		}
		for _, t := range c.Types {
			if t.State == engine.NotAsked {
				continue
			}
			r := base
			r.Type, r.State, r.StateSince, r.Seq = text(t.Type), t.State.String(), micros(t.Since), int64(t.Seq)
			r.Version, r.Sent, r.Rejected, r.Accepted = text(t.Version), text(t.Sent), text(t.Rejected), int64(t.Accepted)
			r.Nacks, r.Nack, r.NackSeq, r.Have, r.Uncertain = int32(t.Nacks), text(t.Nack), int64(t.NackSeq), int32(t.Have), t.Lost
			if t.Wanted >= 0 {
				r.Wanted = ptr(int32(t.Wanted))
			}
			out = append(out, r)
		}
	}
	return out
}

// findings adds the files of findings: one for each day on which some were first
// proved.
func (x *export) findings(p *part) error {
	rows, err := x.kept()
	if err != nil {
		return err
	}
	kept := len(rows)
	for _, f := range x.checker.Findings() {
		r := x.finding(&f)
		if old := slices.IndexFunc(rows[:kept], func(o findingRow) bool { return sameFinding(&o, &r) }); old >= 0 {
			o := &rows[old]
			if r.FirstAt < o.FirstAt {
				*o, r = r, *o
			}
			o.Count, o.LastAt, o.LastSeq = max(o.Count, r.Count), max(o.LastAt, r.LastAt), max(o.LastSeq, r.LastSeq)
			o.Severity, o.Cause = r.Severity, r.Cause
			continue
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b findingRow) int { return cmp.Compare(a.FirstAt, b.FirstAt) })
	written := map[string]bool{}
	for len(rows) > 0 {
		day := dateOf(time.UnixMicro(rows[0].FirstAt))
		n := slices.IndexFunc(rows, func(r findingRow) bool { return dateOf(time.UnixMicro(r.FirstAt)) != day })
		if n < 0 {
			n = len(rows)
		}
		to := filepath.Join(x.d.root, place(Findings, x.of.Cluster, day), x.base+ending)
		if err := one(x, p, Findings, to, rows[:n]); err != nil {
			return err
		}
		written[to], rows = true, rows[n:]
	}
	for _, old := range x.there.findings {
		if !written[old] {
			p.old = append(p.old, old)
		}
	}
	x.there.findings = slices.Collect(maps.Keys(written))
	return nil
}

func (x *export) finding(f *check.Finding) findingRow {
	r := findingRow{
		Proxy: text(x.of.Proxy), Recording: text(x.of.Name), Conn: int64(f.Conn), Stream: int64(f.Stream), Type: text(f.Type),
		Rule: f.Rule.ID, Severity: f.Severity.String(), Fault: string(f.Fault), Confidence: string(f.Rule.Confidence), Names: texts(f.Names),
		FirstAt: microsOf(f.At), LastAt: microsOf(f.Last), LastSeq: int64(f.LastSeq), Count: int64(f.Count), Cause: int64(f.Cause), Message: text(f.Message),
	}
	if w, known := x.told.findings[findingKey(f)]; known {
		r.who = w
	} else if w, known := x.told.nodes.Get(f.Client); known {
		r.who = w
	}
	r.Client = text(f.Client)
	for i := range f.Sources {
		if !f.Sources[i].ByName {
			r.Sources = append(r.Sources, text(f.Sources[i].String()))
		}
	}
	for _, seq := range f.Seqs {
		r.Seqs = append(r.Seqs, int64(seq))
	}
	return r
}

func sameFinding(a, b *findingRow) bool {
	return a.Rule == b.Rule && a.Client == b.Client && a.Type == b.Type && slices.Equal(a.Names, b.Names)
}

// kept are the findings of earlier exports that this one cannot find again, because it
// has not the entries that prove them. It is none as long as the recording is whole.
func (x *export) kept() ([]findingRow, error) {
	var out []findingRow
	for _, path := range x.there.findings {
		rows, err := readRows[findingRow](path)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if x.holes || len(r.Seqs) > 0 && (r.Seqs[0] < x.first || r.Seqs[0] > x.last) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}
