package bisect

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// refusing refuses responses that have all of these.
func refusing(names ...string) func(m *decode.Message, _ int) string {
	return func(m *decode.Message, _ int) string {
		for _, n := range names {
			if !slices.Contains(m.ResourceNames(), n) {
				return ""
			}
		}
		return strings.Join(names, " and ")
	}
}

// What was sent is not sent again. Before it, the client has nothing.
func TestBisectOnce(t *testing.T) {
	for _, delta := range []bool{false, true} {
		c := &picky{node: "n1", asks: []string{"CDS"}, delta: delta, refuse: refusing("d")}
		f, err := bisected(t, neverAccepted, 0, c, Options{})
		if err != nil || culpritsOf(f) != "d" || !f.Culprits[0].Bare {
			t.Fatalf("%+v, %v", f, err)
		}
		trials := map[string]int{}
		for _, s := range c.seen {
			if strings.Contains(s, "#") {
				trials[s]++
			}
		}
		if len(trials) != f.Trials {
			t.Errorf("%d trials, and %d of them differ: %q", f.Trials, len(trials), c.seen)
		}
		for s, n := range trials {
			if n > 1 {
				t.Errorf("%d times %s", n, s)
			}
		}
	}
}

// Nothing is known of a trial without an answer, and what the client may wait for
// is told.
func TestBisectSilentTrial(t *testing.T) {
	c := &picky{node: "n1", asks: []string{"SDS:secret", "CDS"}, refuse: func(m *decode.Message, _ int) string {
		switch names := m.ResourceNames(); {
		case slices.Contains(names, "d"):
			return "d"
		case slices.Contains(names, "a"):
			return "(silence)"
		}
		return ""
	}}
	f, err := bisected(t, neverAccepted, 0, c, Options{Timeout: 200 * time.Millisecond})
	silent, is := errors.AsType[*SilentError](err)
	if !is || !slices.Equal(silent.Lacks, []string{`SDS "secret"`}) || !strings.Contains(err.Error(), "of 6 resources") || f.Rest || f.Accepted {
		t.Errorf("%+v, %v", f, err)
	}
}

// A client is not left to wait for endpoints that were not recorded. It gets those
// that were.
func TestBisectNoEndpoints(t *testing.T) {
	for _, delta := range []bool{false, true} {
		c := &picky{node: "n1", asks: []string{"EDS:a,new", "CDS"}, delta: delta, refuse: bad("CDS", "c")}
		f, err := bisected(t, sotwClusters, 0, c, Options{})
		if err != nil || culpritsOf(f) != "c" || !strings.Contains(strings.Join(f.Notes, "\n"), "endpoints") {
			t.Fatalf("%+v, %v", f, err)
		}
		i := slices.IndexFunc(c.seen, func(s string) bool { return strings.HasPrefix(s, "EDS ") })
		if i < 0 || !slices.Equal(namesSeen(c.seen[i]), []string{"a", "new"}) {
			t.Errorf("it got %q", c.seen)
		}
	}
}

// What proves a culprit is rejected by a client that comes anew, where it is so
// only beside what was there, or for what is left out, too.
func TestBisectProof(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		client picky
	}{
		"alone":        {neverAccepted, picky{refuse: refusing("d")}},
		"together":     {neverAccepted, picky{refuse: refusing("b", "e")}},
		"two":          {neverAccepted, picky{refuse: func(m *decode.Message, _ int) string { return refusing("b")(m, 0) + refusing("e")(m, 0) }}},
		"beside":       {sotwClusters, picky{refuse: refusing("old", "e")}},
		"alone, delta": {neverAccepted, picky{delta: true, refuse: refusing("d")}},
		"left out": {sotwClusters[:strings.Index(sotwClusters, "old#1,a#2")] + "a#1]\nC> type=CDS V=1 N=b R=[] err=\"no\"", picky{refuse: func(m *decode.Message, n int) string {
			if xds.ShortType(m.TypeURL) == "CDS" && n > 1 && !slices.Contains(m.ResourceNames(), "old") {
				return "where is old?"
			}
			return ""
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.client.node, c.client.asks = "n1", []string{"CDS"}
			f, err := bisected(t, c.script, 0, &c.client, Options{})
			if err != nil || !f.Found() {
				t.Fatalf("%+v, %v", f, err)
			}
			all := replaytest.Entries(slices.Collect(f.Entries()))
			plan, err := replay.Read(t.Context(), &all, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer plan.Close()
			var again *replay.Report
			synctest.Test(t, func(t *testing.T) {
				l := replaytest.Listen()
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					c.client.run(ctx, func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) })
				})
				again, err = server.Serve(ctx, l, plan, replay.Options{Idle: 5 * time.Second})
				cancel()
				running.Wait()
			})
			nacks := max(1, len(f.Culprits))
			if err != nil || again.Differs() || again.Matched != again.Expected || again.Expected < 1+nacks {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// A client that rejects one of several may take the others, and ask for what they
// refer to: the proof has that. One alone is not taken, and leads to nothing.
func TestBisectProofHasWhatSeveralReferTo(t *testing.T) {
	const eds = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a,b{eds},c,d{eds},e{eds},f]
C> type=CDS V= N=a R=[] err="no"
`
	for culprits, want := range map[string][]string{"d": nil, "b+e": {"b", "e"}} {
		c := &picky{node: "n1", asks: []string{"EDS:b,d,e", "CDS"}, refuse: refusing(strings.Split(culprits, "+")...)}
		f, err := bisected(t, eds, 0, c, Options{})
		if err != nil || culpritsOf(f) != culprits {
			t.Fatalf("%s: %+v, %v", culprits, f, err)
		}
		var got []string
		for e := range f.Entries() {
			if e.Kind != session.KindMessage || e.Side != session.Server {
				continue
			}
			m := decode.Peek(xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"), e.Side, "", e.Message.Data.Bytes())
			if xds.ShortType(m.TypeURL) == "EDS" {
				got = append(got, m.ResourceNames()...)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: it gives the endpoints of %q, not of %q", culprits, got, want)
		}
	}
}

// That a poll was rejected is not in it. So nothing is said of that.
func TestBisectPolls(t *testing.T) {
	all := replaytest.Entries(recordertest.Entries(t, replaytest.Sessions+"/rest-nack.xdsp"))
	_, err := ReadRejection(t.Context(), 0, func() (replay.Source, func() error, error) {
		return &all, func() error { return nil }, nil
	})
	if not, is := errors.AsType[*NotRejectedError](err); !is || not.Polls == 0 || !strings.Contains(err.Error(), "polls cannot be bisected") {
		t.Errorf("%v", err)
	}
}
