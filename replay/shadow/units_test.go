package shadow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// messagesOf are the bytes of the messages of a script.
func messagesOf(t *testing.T, text string) (out [][]byte) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		if e.Kind == session.KindMessage {
			out = append(out, slices.Clone(e.Message.Data.Bytes()))
		}
	}
	return out
}

func TestRequests(t *testing.T) {
	for _, q := range []request{
		{url: clusters, version: "3", nonce: "x", names: []string{"a", "b"}, node: lenField(1, []byte("n1"))},
		{url: clusters, rejects: &decode.Error{Message: "no"}},
		{delta: true, url: clusters, nonce: "x", names: []string{"a", "b"}, unnames: []string{"c"}, node: lenField(1, []byte("n1")), rejects: &decode.Error{Code: 13, Message: "no"}},
	} {
		path := streamClusters
		if q.delta {
			path = deltaClusters
		}
		data := q.encode()
		m := decode.Peek(xds.LookupMethod(path), session.Client, "", data)
		names, wantNode := m.Names, ""
		if q.delta {
			names = m.Subscribe
		}
		if q.node != nil {
			wantNode = "n1"
		}
		node := ""
		if m.Node != nil {
			node = m.Node.ID
		}
		if m.TypeURL != q.url || m.Version != q.version || m.Nonce != q.nonce || !slices.Equal(names, q.names) || !slices.Equal(m.Unsubscribe, q.unnames) || node != wantNode {
			t.Errorf("%+v became %+v", q, m)
		}
		if (m.Error == nil) != (q.rejects == nil) || m.Error != nil && (m.Error.Code != max(q.rejects.Code, 1) || m.Error.Message != q.rejects.Message) {
			t.Errorf("%+v is rejected by %+v", q, m.Error)
		}
		if got := nodeOf(data, q.delta); string(got) != string(q.node) || (got == nil) != (q.node == nil) {
			t.Errorf("the node of %+v is %q", q, got)
		}
	}
}

func TestSayable(t *testing.T) {
	for name, want := range map[string]bool{
		"clusterid": true, "x-b3_trace.id": true, "a9": true, "": false, "te": false, "host": false, "user-agent": false, "content-type": false,
		":path": false, "grpc-timeout": false, "grpc": true, "Upper": false, "with space": false, "x[": false, "x`": false, "x{": false, "x/": false, "x:": false,
	} {
		if got := sayable(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	md, masked := metadataOf([]session.Field{{Name: "bad-bin", Value: "!"}, {Name: "padded-bin", Value: "AAE="}, {Name: "edge", Value: " ~"}, {Name: "high", Value: "\x7f"}, {Name: "low", Value: "\x1f"}})
	if len(md) != 2 || md.Get("padded-bin")[0] != "\x00\x01" || md.Get("edge")[0] != " ~" || masked != nil {
		t.Errorf("%q %q", md, masked)
	}
}

func TestPending(t *testing.T) {
	p := pending{}
	for _, n := range []string{"d", "b", "a", "c", "a"} {
		p.add("CDS", n, "B was away")
	}
	p.add("CDS", "z", "B did not answer")
	p.add("EDS", strings.Repeat("n", 257), "B was away")
	want := []string{
		`CDS "a", "b", "c" and 1 more: not decided, since B was away`, `CDS "z": not decided, since B did not answer`,
		`EDS "` + strings.Repeat("n", 256) + `…": not decided, since B was away`,
	}
	if d := cmp.Diff(want, p.list()); d != "" {
		t.Error(d)
	}
	for i := range maxTold + 1 {
		p.add("RDS", fmt.Sprint(i), "B was away")
	}
	if n := len(p[[2]string{"RDS", "B was away"}]); n != maxTold {
		t.Errorf("%d are kept", n)
	}
	if got := strings.Join(p.list(), "\n"); !strings.Contains(got, fmt.Sprintf(" and at least %d more: not decided", maxTold-3)) {
		t.Errorf("of more than are kept: %q", got)
	}
}

func TestSummaryAsText(t *testing.T) {
	for want, s := range map[string]Summary{
		"0 streams of 0 clients, 0 answers, 0 compared, nothing was compared; 0 settled, 0 noise, 0 streams skipped, 0 asked again": {},
		"1 stream of 1 client, 1 answer, 2 compared, no difference; 3 settled, 4 noise, 1 stream skipped, 5 asked again": {
			Streams: 1, Clients: 1, Answers: 1, Compared: 2, Settled: 3, Subtract: 4, Skipped: 1, Again: 5,
		},
		"0 streams of 0 clients, 0 answers, 1 compared, not all decided; 0 settled, 0 noise, 0 streams skipped, 0 asked again": {Compared: 1, Undecided: []string{"x"}},
		"0 streams of 0 clients, 0 answers, 0 compared, 1 difference; 0 settled, 0 noise, 0 streams skipped, 0 asked again; of 2 it is not known whether they are noise": {
			Differences: []Difference{{}}, Untold: 2, Undecided: []string{"x"},
		},
		"0 streams of 0 clients, 0 answers, 1 compared, 3 differences; 0 settled, 0 noise, 0 streams skipped, 0 asked again": {Compared: 1, Differences: []Difference{{}}, More: 2},
	} {
		if got := s.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if s.Different() != strings.Contains(want, "difference;") && s.Different() != strings.Contains(want, "differences;") {
			t.Errorf("%s: different %v", want, s.Different())
		}
	}
}

// A sentence is told once. Of a kind so many are told in a minute, which takes nothing from
// those of another kind. After that new ones are told again.
func TestSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		r := newReport(func(e Event) { told = append(told, e.Text) })
		for _, round := range []string{"a", "b"} {
			told = nil
			for i := range 3 * maxTold {
				r.once(Noted, "%s %d", round, i)
				r.once(Noted, "%s %d", round, i)
			}
			r.once(Noted, "another of %s", round)
			want := []string{
				fmt.Sprintf("%s %d", round, maxTold-1),
				fmt.Sprintf("more than 1000 sentences of one kind in a minute: the others are left out; the first is: %s 1000", round),
				"another of " + round,
			}
			if len(told) != maxTold+2 || !slices.Equal(told[maxTold-1:], want) || len(r.said) != 2 || len(r.said["%s %d"].texts) != maxTold {
				t.Errorf("%d were told, the last ones are %q", len(told), told[max(len(told)-3, 0):])
			}
			time.Sleep(time.Minute)
		}
	})
}

// A reader that falls behind is told of once, and when it has caught up. The clock of the recording may be another.
func TestLag(t *testing.T) {
	var told []string
	s := &shadow{report: newReport(func(e Event) { told = append(told, e.What+": "+e.Text) })}
	now := time.Now()
	at := func(recorded, read time.Duration) {
		s.lag(&session.Entry{Time: now.Add(time.Hour + recorded)}, now.Add(read))
	}
	at(0, 0)
	s.live = true
	s.lag(&session.Entry{}, now)
	at(0, 0)
	for i, c := range []struct {
		recorded, read time.Duration
		told           int
	}{
		{time.Second, 3 * time.Second, 0}, // just not late
		{time.Second, 3*time.Second + time.Millisecond, 1},
		{time.Second, 5 * time.Second, 1},
		{7 * time.Second, 8 * time.Second, 1},
		{7 * time.Second, 8*time.Second - time.Millisecond, 2},
		{8 * time.Second, 8 * time.Second, 2},
	} {
		if at(c.recorded, c.read); len(told) != c.told {
			t.Errorf("%d: %q", i, told)
		}
	}
	if d := cmp.Diff([]string{"behind: the shadow reads 2s behind the recording", "caught-up: the shadow has caught up with the recording"}, told); d != "" {
		t.Error(d)
	}
}

// The present begins with the entry that is the last one of it, with one that is newer than the reading, or when there
// is nothing more for a moment.
func TestPresent(t *testing.T) {
	for _, c := range []struct {
		present, newer session.Seq
		want           time.Duration
	}{{3, 0, 200 * time.Millisecond}, {0, 2, 100 * time.Millisecond}, {0, 0, 700 * time.Millisecond}, {9, 0, 700 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlane(t, nil)
			r := startWith(t, runs(Options{Target: p.target("B"), Idle: time.Minute, Present: c.present}))
			began := time.Now()
			for seq := session.Seq(1); seq <= 5; seq++ {
				e := session.Entry{Seq: seq, Kind: session.KindConnect, Conn: session.ConnID(seq), Side: session.Client, Peer: &session.Peer{}, Time: began.Add(-time.Hour)}
				if seq == c.newer {
					e.Time = time.Now()
				}
				r.entries <- e
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if at := r.events[0].Time.Sub(began); at != c.want {
				t.Errorf("present at %d, new is %d: it begins after %v, not %v", c.present, c.newer, at, c.want)
			}
		})
	}
}

// So many resources are unlike at one time, and no more.
func TestUnlikesAreBounded(t *testing.T) {
	for before, entered := range map[int]bool{maxUnlike - 1: true, maxUnlike: false} {
		events := 0
		s := &shadow{report: newReport(func(Event) { events++ }), unlikes: before}
		like := &likeness{unlike: map[string]*unlike{}}
		s.differ(nil, like, "web", nil, side{}, side{There: true}, time.Time{})
		if (like.unlike["web"] != nil) != entered || s.unlikes != maxUnlike || (events == 0) != entered {
			t.Errorf("after %d, %d are unlike, with it: %v; %d events", before, s.unlikes, like.unlike["web"] != nil, events)
		}
	}
}
