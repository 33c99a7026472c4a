package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/session"
)

// changed writes a kept session anew, as change wants it.
func changed(t *testing.T, name string, change func(e *session.Entry) bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "changed.xdsp")
	log, err := recorder.Create(file, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range recordertest.Entries(t, filepath.Join(replaytest.Sessions, name+".xdsp")) {
		if change(&e) {
			log.Append(e)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// playable requires that both sides play what there is of a recording, and say
// what there is not.
func playable(t *testing.T, file, note string) {
	t.Helper()
	server, client := replaytest.Against(t, file, replay.Options{Idle: 6 * time.Second})
	asRecorded(t, note, map[string]*replay.Report{"server": server, "client": client})
}

func asRecorded(t *testing.T, note string, reports map[string]*replay.Report) {
	t.Helper()
	for name, r := range reports {
		if r.Streams == 0 || r.Matched == 0 || r.Differs() || r.Matched != r.Expected {
			t.Errorf("%s: %+v", name, r)
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), note) {
			t.Errorf("%s: no note says %q: %q", name, note, r.Notes)
		}
	}
}

// A gap in the middle of updates.
func TestGap(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]session.Seq{"envoy-sotw": 18, "envoy-delta": 21, "envoy-per-type": 29} {
		t.Run(name, func(t *testing.T) {
			playable(t, changed(t, name, func(e *session.Entry) bool {
				last := first + 5
				if e.Seq == last {
					*e = session.Entry{Kind: session.KindGap, Time: e.Time, Side: session.Proxy, Gap: &session.Gap{First: first, Last: last, Entries: 6, Streams: []session.StreamID{1, 2, 3, 4, 5}}}
					return true
				}
				return e.Seq < first || e.Seq > last
			}), "were lost when it was recorded")
		})
	}
}

// A recording of which the end was torn off.
func TestCut(t *testing.T) {
	t.Parallel()
	all, err := os.ReadFile(filepath.Join(replaytest.Sessions, "envoy-sotw.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, part := range []int{3, 5, 7, 9} {
		file := filepath.Join(t.TempDir(), "cut.xdsp")
		if err := os.WriteFile(file, all[:len(all)*part/10], 0o600); err != nil {
			t.Fatal(err)
		}
		if len(replaytest.PlanOf(t, file).Streams) == 0 {
			continue
		}
		played++
		playable(t, file, "")
	}
	if played == 0 {
		t.Error("nothing was left to play")
	}
}

// A recording that begins in the middle of a stream of which it has the headers, as at
// the head of a later segment: the rest is played.
func TestMidStream(t *testing.T) {
	t.Parallel()
	// The request for listeners is not there: a live client makes it by itself,
	// but this one cannot.
	_, client := replaytest.Against(t, changed(t, "envoy-sotw", func(e *session.Entry) bool {
		e.Carried = e.Seq <= 3
		return e.Seq <= 3 || e.Seq > 16
	}), replay.Options{Idle: 6 * time.Second})
	asRecorded(t, "the request for LDS was not recorded", map[string]*replay.Report{"client": client})
}

// A message of which a part is missing is not said, and what answered it is not
// expected, whether the stream says of which type it is or not.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behind session.Seq
		note   string
	}{"envoy-sotw": {16, "was recorded in part, and not of which type it is"}, "envoy-per-type": {33, "entry 34 was recorded in part: it is not said again"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := false
			playable(t, changed(t, name, func(e *session.Entry) bool {
				if e.Kind == session.KindMessage && e.Side == session.Server && e.Seq > c.behind && !done {
					done = true
					m := *e.Message
					m.Data, m.Truncated = session.Chunks{m.Data.Bytes()[:20]}, true
					e.Message = &m
				}
				return true
			}), c.note)
		})
	}
}

// Whatever the pace, the same is said.
func TestPaces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"cause", "x1000", "step"} {
		t.Run(text, func(t *testing.T) {
			pace, err := replay.ParsePace(text)
			if err != nil {
				t.Fatal(err)
			}
			step := make(chan struct{})
			close(step) // somebody leans on Enter
			server, client := replaytest.Against(t, replaytest.Sessions+"/envoy-sotw-nack.xdsp", replay.Options{Pace: pace, Step: step})
			for name, r := range map[string]*replay.Report{"server": server, "client": client} {
				if r.Differs() || r.Matched != r.Expected || r.Matched == 0 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		})
	}
}

// What a recorded client never answered is answered by a live one: that is a
// difference. Silence that may only not have been recorded is not.
func TestSilence(t *testing.T) {
	t.Parallel()
	const begins = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[c2]\n"
	answered := begins + "C> type=CDS V=2 N=b R=[]\n"
	for _, test := range []struct{ name, recorded, live, expected, got string }{
		{"cured", begins + "t=+41s -- tick\n", answered, "no answer", "ACK"},
		{"the same again", begins + "t=+41s -- tick\n", begins + "t=+41s -- tick\n", "", ""},
		{"cut short", begins + "t=+9s -- tick\n", answered, "", ""},
		{"rejected now", begins + "t=+41s -- tick\n", begins + "C> type=CDS V=1 N=b R=[] err=\"no\" code=13\n", "no answer", "NACK"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, _ := replaytest.Facing(t, replaytest.PlanOfScript(t, test.recorded), replaytest.PlanOfScript(t, test.live), replay.Options{Idle: 6 * time.Second})
			switch {
			case test.expected == "" && (server.Differs() || server.Matched != server.Expected || server.Matched == 0):
				t.Errorf("%+v", server)
			case test.expected == "":
			case len(server.Differences) != 1 || server.Differences[0].Expected != test.expected || server.Differences[0].Got != test.got || server.Matched == server.Expected:
				t.Errorf("%+v; want %s instead of %s", server, test.got, test.expected)
			}
		})
	}
}

// A client that ends its stream may give up before what it wants: that is its
// leaving, and no difference. Who gives up a name and stays wants it no more.
func TestLeaving(t *testing.T) {
	t.Parallel()
	const (
		begins = "C> type=EDS V= N= R=[e1,e2] node=n1\nS< type=EDS V=1 N=a res=[e1,e2]\nC> type=EDS V=1 N=a R=[e1,e2]\n"
		// What has no answer yet may still get one, so that nothing is compared
		// before the client goes.
		update = "S< type=EDS V=2 N=b res=[e2]\n"
		gives  = "C> type=EDS V=1 N=a R=[e2]\n"
		goes   = "t=+9s -- client-end\n"
	)
	for _, test := range []struct{ name, recorded, live, got string }{
		{"with the end", begins + update + goes, begins + update + gives + goes, ""},
		{"with the end, and recorded", begins + update + gives + goes, begins + update + gives + goes, ""},
		{"with the end of what the server ended", begins + update + gives + "t=+9s -- server-end code=14\n", begins + update + gives + goes, ""},
		{
			"and stays", begins + update + "C> type=EDS V=2 N=b R=[e1,e2]\n" + goes,
			begins + gives + update + "C> type=EDS V=2 N=b R=[e2]\n" + goes, "that it gives it up",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, _ := replaytest.Facing(t, replaytest.PlanOfScript(t, test.recorded), replaytest.PlanOfScript(t, test.live), replay.Options{Idle: time.Minute})
			switch {
			case test.got == "" && (server.Differs() || server.Matched != server.Expected || server.Matched == 0):
				t.Errorf("%+v", server)
			case test.got != "" && (len(server.Differences) != 1 || server.Differences[0].Got != test.got):
				t.Errorf("%+v; want %q", server, test.got)
			}
		})
	}
}
