package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// played is a recording of a script.
func played(tb testing.TB, text string) Source {
	tb.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return viewtest.Record(tb, slices.Collect(s.Entries())...)
}

// A client that rejects for ever, one that cannot say what it makes of what it
// was sent, and one of whose streams has ended.
const standings = `-- stream 1
C> type=CDS V= N= R=[] node=gw-0.istio-system ua=envoy/1.40.0
S< type=CDS V=41 N=a res=[c1,c2]
C> type=CDS V=41 N=a R=[]
C> type=EDS V= N= R=[c1,c2]
S< type=EDS V=41 N=e res=[c1,c2]
C> type=EDS V=41 N=e R=[c1,c2]
C> type=LDS V= N= R=[]
S< type=LDS V=41 N= res=[l1]
` + "REJECTIONS" + `-- stream 2
C> type=LDS V= N= R=[] node=gw-1.istio-system ua=envoy/1.40.0
S< type=LDS V=41 N=a res=[l1]
C> type=LDS V=41 N=a R=[]
-- stream 3
D> type=RDS N= sub=[r] node=gw-1.istio-system ua=envoy/1.40.0
d< type=RDS N=a res=[r@1]
D> type=RDS N=a
t=+5s -- server-end code=14
t=+200s @2 S< type=LDS V=42 N=b res=[l2]
`

func TestClientsStandings(t *testing.T) {
	rejections := strings.Repeat("S< type=CDS V=42 N=n res=[c1{eds}]\nC> type=CDS V=41 N=n R=[] err=\"bad connect_timeout\"\n", 7359)
	d := drive(t, played(t, strings.Replace(standings, "REJECTIONS", rejections, 1)), 80, 24, Options{Theme: "mono"})
	d.press("1")
	d.golden("clients-standings-80x24")
	d.press("space", "G", "space", "G")
	d.golden("clients-standings-unfolded-80x24")
	d.press("1", "g", "d")
	if got := d.frame(); !strings.Contains(got, "41 (") || !strings.Contains(got, ", accepted) > 42 (") {
		t.Errorf("what was rejected last is not held against what was accepted:\n%s", got)
	}
}

// Why a client rejected what it was sent last is told when it has left, too; of
// one that left in peace, how it left.
func TestClientsGoneWhileNacked(t *testing.T) {
	const text = "C> type=CDS V= N= R=[] node=gw-0\nS< type=CDS V=41 N=a res=[c1]\nC> type=CDS V=41 N=a R=[]\n" +
		"S< type=CDS V=42 N=b res=[c1{eds}]\nC> type=CDS V=41 N=b R=[] err=\"bad timeout\"\n-- server-end code=14\n" +
		"-- stream 2\nC> type=CDS V= N= R=[] node=gw-1\nS< type=CDS V=41 N=a res=[c1]\nC> type=CDS V=41 N=a R=[]\n-- server-end code=14\n"
	d := drive(t, played(t, text), 120, 24, Options{Theme: "mono"})
	d.press("1")
	if got, want := d.frame(), `gw-0 CDS: rejected 42, accepted 41; "bad timeout"; ended by the server with status 14`; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	d.press("down")
	if got, want := d.frame(), "gw-1: ended by the server with status 14"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// d on a client that is in sync compares what it accepted last.
func TestClientsDiffOfAccepted(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("1", "d")
	if got := d.frame(); strings.Contains(got, "messages") {
		t.Errorf("requests are compared:\n%s", got)
	}
}

// Stats say that something of the past was let go, in one line.
func TestStatsOfThePast(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "mono"})
	d.press("5")
	if got := d.frame(); strings.Contains(got, "PAST") {
		t.Errorf("nothing was forgotten:\n%s", got)
	}
	d.m.stats.Past = engine.Memory{Past: 64 << 20, Budget: 64 << 20, Forgotten: 12}
	d.m.stale = true
	if got := d.frame(); !strings.Contains(got, " PAST   forgotten 12 times   64 MiB of 64 MiB") {
		t.Errorf("it does not say what was forgotten:\n%s", got)
	}
}
