package e2e

import (
	"flag"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var soakLong = flag.Bool("soak", false, "TestSoak of the size that docs/reliability.md tells of; some seconds if not")

const (
	// soakAsserts says whether TestSoak fails where the proxy takes more than
	// soakMemory, or only tells how much.
	soakAsserts = true
	// soakMemory is what the proxy may take whatever has passed, in bytes.
	soakMemory = 200 << 20
)

// soakArgs are what the short form is started with besides.
var soakArgs = []string{"--memory-past", "4MiB"}

// soakSize is how large a scene is.
type soakSize struct{ clients, names, rounds int }

// A proxy with rules that records for weeks takes no more memory for it, and
// loses nothing: clients come back, clients come that were never there, and
// what all have is replaced, as fast as the proxy records and judges.
func TestSoak(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name        string
		short, long soakSize
		play        func(w *soakWorld, z soakSize)
	}{
		{"reconnects", soakSize{4, 60, 12}, soakSize{15, 400, 50}, (*soakWorld).reconnects},
		{"short-lived", soakSize{4, 20, 120}, soakSize{4, 40, 5000}, (*soakWorld).shortLived},
		{"pushes", soakSize{20, 60, 60}, soakSize{200, 250, 500}, (*soakWorld).pushes},
	} {
		t.Run(s.name, func(t *testing.T) {
			size, args := s.short, soakArgs
			if *soakLong {
				size, args = s.long, nil
			} else {
				t.Parallel()
			}
			w := &soakWorld{t: t, server: newSoakServer(t, size.names)}
			w.proxy = startProxyWith(t, w.server.serve(t), setup{args: append([]string{"--admin", "127.0.0.1:0", "--log-format", "json"}, args...)})
			w.admin = w.proxy.stderr.find(t, adminLine, w.proxy.exited)[1]
			w.samples = append(w.samples, w.proxy.memory(t, "VmRSS"))
			s.play(w, size)
			w.judge()
		})
	}
}

// soakWorld is clients, a proxy and a server.
type soakWorld struct {
	t       *testing.T
	server  *soakServer
	proxy   *proxy
	admin   string
	all     []*soakClient
	born    int
	ahead   int   // resources that were sent since the proxy had caught up
	samples []int // of the resident set, in bytes
}

// crowd is clients that connect now.
func (w *soakWorld) crowd(n int) {
	for range n {
		w.all = append(w.all, &soakClient{node: soakNode(w.born), names: w.server.names})
		w.born++
	}
	for _, c := range w.all[len(w.all)-n:] {
		c.join(w.t, w.proxy.addr)
	}
	w.server.acked(w.t, n)
}

// soakAhead is how many resources may be sent before the proxy has recorded and
// judged all: some 10 MB with the requests that they come with. In weeks there
// is time for that. Without, what waits would be measured, and in the end lost.
const soakAhead = 20_000

// push changes the endpoints of n clusters, and all accept them.
func (w *soakWorld) push(from, n int) {
	w.server.change(w.t, from, n)
	w.server.acked(w.t, len(w.all))
	if w.ahead += len(w.all) * len(w.server.names); w.ahead >= soakAhead {
		w.caughtUp()
		w.ahead = 0
	}
}

// sample takes about twenty samples in so many rounds.
func (w *soakWorld) sample(n, rounds int) {
	if (n+1)*20/rounds > n*20/rounds {
		w.samples = append(w.samples, w.proxy.memory(w.t, "VmRSS"))
	}
}

// Clients get some pushes, leave and come back, round after round.
func (w *soakWorld) reconnects(z soakSize) {
	w.crowd(z.clients)
	for n := range z.rounds {
		for i := range 20 {
			w.push(20*n+i, z.names)
		}
		for _, c := range w.all {
			c.leave(w.t)
			c.join(w.t, w.proxy.addr)
		}
		w.server.acked(w.t, len(w.all))
		w.sample(n, z.rounds)
	}
}

// Clients come that were never there before, get some pushes, and leave for
// good.
func (w *soakWorld) shortLived(z soakSize) {
	w.crowd(z.clients)
	for n := range z.rounds {
		w.push(2*n, 2)
		w.all[0].leave(w.t)
		w.all = append([]*soakClient(nil), w.all[1:]...)
		w.crowd(1)
		w.sample(n, z.rounds)
	}
}

// Nobody leaves. Each push changes the endpoints of all, and all get the same.
func (w *soakWorld) pushes(z soakSize) {
	w.crowd(z.clients)
	for n := range z.rounds {
		w.push(0, z.names)
		w.sample(n, z.rounds)
	}
}

func (w *soakWorld) judge() {
	t, p := w.t, w.proxy
	fail := t.Errorf
	if !soakAsserts {
		fail = t.Logf
	}
	metrics := w.caughtUp()
	w.samples = append(w.samples, p.memory(t, "VmRSS"))
	peak := p.memory(t, "VmHWM")
	for _, c := range w.all {
		c.leave(t)
	}
	p.stop(t)
	f := p.info(t)
	var texts []string
	for _, s := range w.samples {
		texts = append(texts, strconv.Itoa(s>>20))
	}
	t.Logf("peak %d MB; %s past bytes of %s, %s forgotten; info: %+v", peak>>20, metricOf(metrics, "past_bytes"),
		metricOf(metrics, "past_budget_bytes"), metricOf(metrics, "past_forgotten_total"), f)
	t.Logf("samples in MB: %s", strings.Join(texts, " "))
	if peak > soakMemory {
		fail("the proxy has taken %d MB", peak>>20)
	}
	if soakAsserts && metricOf(metrics, "past_budget_bytes") == "-" {
		t.Error("/metrics says nothing of the budget")
	}
	if !f.Complete || f.Damaged || f.Gaps != 0 || f.Lost != 0 {
		t.Errorf("info: %+v", f)
	}
	if found := gravely.FindString(metrics); found != "" {
		t.Errorf("the soak itself makes mistakes: %s", found)
	}
}

var gravely = regexp.MustCompile(`(?m)^xdsproxy_findings_total\{.*severity="(warning|error)"\} [1-9].*$`)

// caughtUp waits until the rules, which may be behind what passes, have seen all
// of it, and returns the metrics.
func (w *soakWorld) caughtUp() string {
	w.t.Helper()
	for last, end := "", time.Now(); ; time.Sleep(10 * time.Millisecond) {
		text := scrape(w.t, w.admin+"/metrics")
		lag := metricOf(text, "metrics_lag_entries")
		if lag == "0" {
			return text
		}
		if lag != last {
			last, end = lag, time.Now().Add(patience)
		}
		if time.Now().After(end) {
			w.t.Fatalf("the rules stay %s entries behind", lag)
		}
	}
}

// metricOf is the value of a metric without labels, "-" if there is none.
func metricOf(text, name string) string {
	m := regexp.MustCompile(`(?m)^xdsproxy_` + name + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return "-"
	}
	return m[1]
}
