package client_test

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// In the state of the world a scope that is left out is gone, as a listener or
// a cluster is.
const (
	scopeLeft = `
C> type=SRDS V= N= R=[] node=n1
S< type=SRDS V=1 N=a res=[a,b,old]
C> type=SRDS V=1 N=a R=[]
S< type=SRDS V=2 N=b res=[a#2,b]
C> type=SRDS V=2 N=b R=[]
`
	scopeStays = `
C> type=SRDS V= N= R=[] node=n1
S< type=SRDS V=1 N=a res=[a,b,old]
C> type=SRDS V=1 N=a R=[]
S< type=SRDS V=2 N=b res=[a#2,b,old]
C> type=SRDS V=2 N=b R=[]
`
)

// A live server that does not take a scope away differs.
func TestPlayScopes(t *testing.T) {
	_, client := replaytest.Facing(t, replaytest.PlanOfScript(t, scopeStays), replaytest.PlanOfScript(t, scopeLeft), replay.Options{Idle: 6 * time.Second})
	if len(client.Differences) != 1 || client.Differences[0].Expected != `the removal of SRDS "old"` {
		t.Errorf("%+v", client)
	}
}

// A heartbeat is not the state of the world: what it leaves out stays.
func TestPlayHeartbeat(t *testing.T) {
	const begins = `
C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[w:a~5s,b]
C> type=LDS V=1 N=a R=[]
`
	recorded := replaytest.PlanOfScript(t, begins+"S< type=LDS V=1 N=b res=[hb:a@1~5s]\nC> type=LDS V=1 N=b R=[]\n")
	live := replaytest.PlanOfScript(t, begins+"S< type=LDS V=1 N=b res=[w:a~5s,b]\nC> type=LDS V=1 N=b R=[]\n")
	if _, client := replaytest.Facing(t, live, recorded, replay.Options{Idle: 6 * time.Second}); client.Differs() || client.Matched != client.Expected || client.Matched == 0 {
		t.Errorf("%+v", client)
	}
}

// What stands at the end of the recording has to stand at the end, too, also if it came
// once before.
func TestPlayEndsElsewhere(t *testing.T) {
	const (
		begins = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a,b]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[a,b#2]
C> type=CDS V=2 N=b R=[]
`
		removes = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a,b]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[a]
C> type=CDS V=2 N=b R=[]
`
		back = "S< type=CDS V=3 N=c res=[a,b]\nC> type=CDS V=3 N=c R=[]\n"
		// The live server stays, and waits for a request that does not come.
		stays = "C> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=l res=[x]\n"
	)
	for _, v := range []struct{ live, recorded, expected, got string }{
		{begins + back, begins + back, "", ""},
		{begins + stays, begins + back, `CDS "b" at the end as in entry 9`, "another one"},
		{removes + stays, removes + back, `CDS "b" at the end as in entry 9`, "its removal"},
		{removes + back + stays, removes + "S< type=CDS V=3 N=c res=[a,b]\nC> type=CDS V=3 N=c R=[]\nS< type=CDS V=4 N=d res=[a]\nC> type=CDS V=4 N=d R=[]\n", `no CDS "b" at the end`, "one"},
	} {
		_, client := replaytest.Facing(t, replaytest.PlanOfScript(t, v.live), replaytest.PlanOfScript(t, v.recorded), replay.Options{Idle: 6 * time.Second})
		switch d := client.Differences; {
		case v.expected == "":
			if client.Differs() || client.Matched != client.Expected {
				t.Errorf("the same: %+v", client)
			}
		case len(d) != 1 || d[0].Expected != v.expected || d[0].Got != v.got || client.Matched >= client.Expected:
			t.Errorf("want %s, %s: %+v", v.expected, v.got, client)
		}
	}
}
