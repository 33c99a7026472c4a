package check_test

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// What was lost may have been what is missed: nothing is held against either
// side for it.
func TestNothingIsProvedByWhatWasLost(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		first, last int // messages that are lost, from 1
	}{
		// The answer is lost, and the time for it is over before the gap is
		// known of.
		"an answer": {`
D> type=EDS N= sub=[a] node=n1
d< type=EDS N=1 res=[a@1]
t=+20s D> type=EDS N=1 sub=[]
t=+20s -- tick
`, 2, 3},
		"a verdict": {`
C> type=EDS V= N= R=[a] node=n1
S< type=EDS V=1 N=1 res=[a]
t=+1s C> type=EDS V=1 N=1 R=[a]
t=+25s C> type=EDS V=1 N=1 R=[a,b]
S< type=EDS V=1 N=2 res=[a,b]
C> type=EDS V=1 N=2 R=[a,b]
`, 3, 4},
		"that there is none": {`
D> type=EDS N= sub=[a,b] node=n1
d< type=EDS N=1 rm=[b]
D> type=EDS N=1 sub=[]
-- server-end code=14
-- stream 2
D> type=EDS N= sub=[a,b] node=n1
d< type=EDS N=1 res=[a@1]
D> type=EDS N=1 sub=[]
t=+20s -- tick
`, 2, 2},
		"whose nonce it is": {`
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
-- server-end code=14
-- stream 2
C> type=CDS V=1 N=a R=[] node=n1
`, 2, 2},
		"who it is": {`
C> type=ECDS V= N= R=[e1] node=sidecar~10.0.0.1~p.ns~ns.svc
S< type=ECDS V=1 N=a res=[e1]
C> type=ECDS V=1 N=a R=[e1]
S< type=ECDS V=1 N=b res=[e1]
C> type=ECDS V=1 N=b R=[e1]
C> type=ECDS V=1 N=b R=[]
C> type=ECDS V=1 N=b R=[e1]
C> type=ECDS V=1 N=b R=[]
C> type=ECDS V=1 N=b R=[e1]
C> type=ECDS V=1 N=b R=[]
C> type=ECDS V=1 N=b R=[e1]
C> type=ECDS V=1 N=b R=[]
C> type=ECDS V=1 N=b R=[e1]
`, 1, 1},
		"what it was asked": {`
C> type=EDS V= N= R=[a] node=n1
S< type=EDS V=1 N=1 res=[a]
C> type=EDS V=1 N=1 R=[a,b]
C> type=EDS V=1 N=1 R=[a,b,c]
C> type=EDS V=1 N=1 R=[a,b,c,d]
S< type=EDS V=1 N=2 res=[a]
C> type=EDS V=1 N=2 R=[a,b,c,d]
S< type=EDS V=1 N=3 res=[a]
C> type=EDS V=1 N=3 R=[a,b,c,d]
S< type=EDS V=1 N=4 res=[a]
C> type=EDS V=1 N=4 R=[a,b,c,d]
S< type=EDS V=1 N=5 res=[a]
C> type=EDS V=1 N=5 R=[a,b,c,d]
S< type=EDS V=1 N=6 res=[a]
C> type=EDS V=1 N=6 R=[a,b,c,d]
S< type=EDS V=1 N=7 res=[a]
`, 3, 5},
	} {
		s := parsed(t, c.text)
		k := check.NewChecker(check.Options{})
		messages := 0
		for e := range s.Entries() {
			if e.Kind == session.KindMessage {
				messages++
				if messages >= c.first && messages < c.last {
					continue
				}
				if messages == c.last {
					e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{Streams: []session.StreamID{e.Stream}}}
				}
			}
			k.Step(&e)
		}
		for _, f := range k.Findings() {
			if f.Severity > check.Info {
				t.Errorf("%s: %s: %s", name, f.Rule.ID, f.Message)
			}
		}
	}
}

// Nor by a reply of which part was not kept.
func TestNothingIsProvedByTruncatedReplies(t *testing.T) {
	s := parsed(t, `
P> path=/v3/discovery:clusters type=CDS V= node=n1
p< 200 type=CDS V=2 N= res=[a]
t=+1s P> path=/v3/discovery:clusters type=CDS V=2 node=n1
p< 200 type=CDS V=2 N= res=[a]
t=+1s P> path=/v3/discovery:clusters type=CDS V=2 node=n1
p< 200 type=CDS V=2 N= res=[a]
t=+1s P> path=/v3/discovery:clusters type=CDS V=2 node=n1
p< 200 type=CDS V=3 N= res=[a#3]
t=+1s P> path=/v3/discovery:clusters type=CDS V=2 node=n1
p< 200 type=CDS V=2 N= res=[a]
`)
	k := check.NewChecker(check.Options{})
	messages := 0
	for e := range s.Entries() {
		if e.Kind == session.KindMessage {
			if messages++; messages == 8 {
				data := e.Message.Data.Bytes()
				e.Message.Data, e.Message.Truncated = session.Chunks{data[:len(data)/2]}, true
			}
		}
		k.Step(&e)
	}
	for _, f := range k.Findings() {
		if f.Severity > check.Info {
			t.Errorf("%s: %s", f.Rule.ID, f.Message)
		}
	}
}

// What both of its entries prove is proved after a part that was not seen, too: a
// segment that is checked alone begins so.
func TestReusedNonceAfterWhatWasLost(t *testing.T) {
	s := parsed(t, `
D> type=EDS N= sub=[a,b] node=n1
d< type=EDS N=1 res=[a@1]
D> type=EDS N=1
d< type=EDS N=2 res=[a@2]
D> type=EDS N=2
d< type=EDS N=2 res=[b@1]
D> type=EDS N=2
`)
	for lost, want := range map[string]check.Severity{"repeated": check.Warning, "gap": check.Warning} {
		k := check.NewChecker(check.Options{})
		messages := 0
		for e := range s.Entries() {
			if e.Kind == session.KindMessage {
				messages++
			}
			switch {
			case lost == "repeated" && messages <= 3:
				e.Carried = true
			case lost == "gap" && e.Kind == session.KindMessage && messages == 5: // the verdict
				e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{Streams: []session.StreamID{e.Stream}}}
			}
			k.Step(&e)
		}
		found := k.Findings()
		if len(found) != 1 || found[0].Rule.ID != "response-nonce-reused" || found[0].Severity != want {
			t.Errorf("%s: %+v", lost, found)
		}
	}
}
