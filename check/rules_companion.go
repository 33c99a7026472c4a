package check

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// loads is the conversation on a load reporting stream.
type loads struct {
	requests, responses uint64
	asked               loadsAsked // by the newest response
	before              loadsAsked // by the one before it
	askedAt             time.Time
	last                time.Time   // report, or response
	lastSeq             session.Seq // of it
	watching            bool        // a timer waits for the next report
	sparing             bool        // the client leaves out reports that say nothing
}

type loadsAsked struct {
	clusters map[string]struct{}
	all      bool
	interval time.Duration
}

func (a *loadsAsked) wants(cluster string) bool {
	_, ok := a.clusters[cluster]
	return ok || a.all
}

const (
	// missedReports is how many intervals may pass without a report.
	missedReports = 3
	// maxInterval is longer than any sensible one.
	maxInterval = 24 * time.Hour
)

func loadReports(x *event) {
	t, e := x.stream, x.entry
	if t == nil || t.Lost || e.Kind != session.KindMessage || t.Method.Variant != xds.VariantLRS || !e.Message.Whole() {
		return
	}
	m := decode.PeekLoadStats(e.Side, e.Message.Data.Bytes())
	if e.Side == session.Client {
		x.loadReport(loadsOf(t), &m)
	} else {
		x.loadsAsked(loadsOf(t), &m)
	}
}

func (x *event) loadReport(l *loads, m *decode.LoadStats) {
	l.requests++
	l.last, l.lastSeq = x.now, x.entry.Seq
	if l.requests == 1 && m.Node == nil {
		x.prove(proof{severity: Warning, cause: "node", message: "the first load report names no node"})
	}
	if m.Node != nil && strings.HasPrefix(m.Node.UserAgent, "gRPC C-core") {
		l.sparing = true
	}
	if len(m.Loads) == 0 {
		return
	}
	if l.responses == 0 {
		x.provef(proof{severity: Warning, cause: "early", names: loadNames(m.Loads, nil)},
			"loads of %s before the server has asked for any", words.List(loadNames(m.Loads, nil)))
		return
	}
	// What the client was about to send when the list changed is of the old one.
	grace := max(x.flight(), 2*l.asked.interval)
	others := loadNames(m.Loads, func(name string) bool {
		return l.asked.wants(name) || x.now.Sub(l.askedAt) <= grace && l.before.wants(name)
	})
	if len(others) > 0 {
		x.provef(proof{severity: Warning, cause: "others", names: others}, "loads of %s, which the server has not asked for", words.List(others))
	}
	x.watchLoads(l)
}

// loadNames are the clusters that are reported on and not known.
func loadNames(reports []decode.ClusterLoad, known func(string) bool) []string {
	var out []string
	var seen map[string]struct{}
	for i := range reports {
		n := reports[i].Name
		if _, twice := seen[n]; !twice && (known == nil || !known(n)) {
			put(&seen, n, struct{}{})
			out = append(out, n)
		}
	}
	return out
}

func (x *event) loadsAsked(l *loads, m *decode.LoadStats) {
	l.responses++
	l.before, l.askedAt = l.asked, x.now
	l.asked = loadsAsked{clusters: nameSet(m.Clusters), all: m.SendAll, interval: max(0, min(m.Interval, maxInterval))}
	l.last, l.lastSeq = x.now, x.entry.Seq
	x.watchLoads(l)
}

// watchLoads waits for the next report.
func (x *event) watchLoads(l *loads) {
	if l.watching || l.sparing || l.asked.interval == 0 || !l.asked.all && len(l.asked.clusters) == 0 {
		return
	}
	l.watching = true
	x.after(missedReports*l.asked.interval, loadsMissed)
}

func loadsMissed(x *event) {
	t, l := x.stream, loadsOf(x.stream)
	l.watching = false
	if t.Ended || t.Lost || l.sparing || !t.HalfClosed.IsZero() || l.asked.interval == 0 || !l.asked.all && len(l.asked.clusters) == 0 {
		return
	}
	quiet := missedReports * l.asked.interval
	if left := quiet - x.now.Sub(l.last); left > 0 {
		l.watching = true
		x.after(left, loadsMissed)
		return
	}
	x.provef(proof{severity: Warning, cause: "stopped", seqs: []session.Seq{l.lastSeq}},
		"no load report for %v, although one is due every %v", words.Round(quiet), words.Round(l.asked.interval))
}
