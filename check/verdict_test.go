package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
)

// one returns the only finding of a rule.
func one(t *testing.T, text, id string) check.Finding {
	t.Helper()
	all := judgeText(t, text)
	found := of(all, id)
	if len(found) != 1 {
		t.Fatalf("%d findings of %s: %s", len(found), id, words(all))
	}
	return found[0]
}

// A client gets more time for very many clusters.
func TestManyClustersTakeLonger(t *testing.T) {
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	text := "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[" + strings.Join(names, ",") + "]\nt=+%ds -- tick\n"
	if found := of(judgeText(t, fmt.Sprintf(text, 39)), "ack-missing"); len(found) > 0 {
		t.Errorf("after 39s: %s", words(found))
	}
	if f := one(t, fmt.Sprintf(text, 41), "ack-missing"); f.Severity != check.Warning {
		t.Errorf("after 41s: %+v", f)
	}
}

// Each response without a verdict counts, and so does one after a pause.
func TestMissingVerdictsAreCounted(t *testing.T) {
	f := one(t, `C> type=RDS V= N= R=[r1] node=n1
S< type=RDS V=1 N=a res=[r1]
t=+1s S< type=RDS V=2 N=b res=[r1#2]
t=+1s C> type=SDS V= N= R=[s1]
t=+30s S< type=RDS V=3 N=c res=[r1#3]
t=+21s -- tick
`, "ack-missing")
	if f.Count != 3 || f.Last.Sub(f.At).Seconds() != 42 {
		t.Errorf("%d times from %v to %v", f.Count, f.At, f.Last)
	}
}

// What Envoy says of a rejection is told without the resource it quotes, and
// it is one finding for every process of Envoy.
func TestReasonsAreToldInShort(t *testing.T) {
	quoted := strings.Repeat("name: \\\"x\\\" lb_policy: MAGLEV\\n", 200)
	text := `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[x,bad,y]
C> type=CDS V= N=a R=[] err="goo.gle/debugstr   ` + quoted + `bad: Proto constraint validation failed"
S< type=CDS V=2 N=b res=[x,bad,y]
C> type=CDS V= N=b R=[] err="goo.gle/debugonly \n` + quoted + `bad: Proto constraint validation failed"
`
	f := one(t, text, "nack-received")
	if f.Count != 2 || !strings.HasSuffix(f.Message, "bad: Proto constraint validation failed`; new: \"bad\", \"x\", \"y\"; nothing was accepted on its stream before") || len(f.Message) > 500 || strings.Contains(f.Message, "goo.gle") {
		t.Errorf("%d times %s", f.Count, f.Message)
	}
}

// The names of a finding are those that the rejection speaks of.
func TestRejectedNames(t *testing.T) {
	for _, c := range []struct{ about, first, second string }{
		{"b: malformed", "b", "b"},
		{"no route to bc", "bc", "bc"},
		{"ab is not b-1", "a,b,bc", "a,b,bc"},
		{"no", "a,b,bc", "a,b,bc"},
		{`resource "a": unknown; b too`, "a,b", "a,b"},
	} {
		all := judgeText(t, `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=1 res=[a,b,bc]
C> type=CDS V= N=1 R=[] err=`+fmt.Sprintf("%q", c.about)+`
S< type=CDS V=1 N=2 res=[a,b,bc]
`)
		for id, want := range map[string]string{"nack-received": c.first, "nack-immediate-resend": c.second} {
			found := of(all, id)
			if len(found) != 1 || strings.Join(found[0].Names, ",") != want {
				t.Errorf("%q: %s names %v, not %s", c.about, id, found, want)
			}
		}
	}
}

// Different reasons are different findings, up to a number.
func TestReasonsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("C> type=CDS V= N= R=[] node=n1\n")
	for i := range 30 {
		fmt.Fprintf(&b, "S< type=CDS V=%d N=%d res=[c#%d]\nC> type=CDS V= N=%d R=[] err=\"attempt %d\"\n", i+1, i, i, i, i)
	}
	found := of(judgeText(t, b.String()), "nack-received")
	total := 0
	for _, f := range found {
		total += f.Count
	}
	if len(found) != 9 || total != 30 {
		t.Errorf("%d findings, %d in all", len(found), total)
	}
}

// A rejection that came too early is told with what was missing.
func TestWhatWasLacked(t *testing.T) {
	const text = `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=c res=[c0]
C> type=CDS V=1 N=c R=[]
C> type=RDS V= N= R=[r1]
S< type=RDS V=1 N=a res=[r1{c0,c1}]
C> type=RDS V= N=a R=[r1] err=%q
S< type=CDS V=2 N=d res=[c0,c1]
C> type=CDS V=2 N=d R=[]
t=+6s S< type=RDS V=1 N=b res=[r1{c0,c1}]
C> type=RDS V=1 N=b R=[r1]
`
	for reason, want := range map[string]string{
		"no":                 `"r1" refers to CDS "c1", which had not been sent`,
		"unknown cluster c1": `"r1" refers to CDS "c1", which the reason names`,
	} {
		f := one(t, fmt.Sprintf(text, reason), "nack-then-same-content-acked")
		if !strings.HasSuffix(f.Message, want) || len(f.Seqs) != 4 || !slices.Equal(f.Names, []string{"r1"}) {
			t.Errorf("%v %s", f.Names, f.Message)
		}
	}
}

// A verdict that is taken back is told once a response, a flood once for every
// twenty repeats.
func TestRepeatsAreToldOnce(t *testing.T) {
	f := one(t, `C> type=EDS V= N= R=[e1] node=n1
S< type=EDS V=1 N=a res=[e1]
C> type=EDS V= N=a R=[e1] err="bad"
C> type=EDS V=1 N=a R=[e1]
C> type=EDS V=1 N=a R=[e1,e2]
C> type=EDS V=1 N=a R=[e1]
`, "verdict-flipped")
	if f.Count != 1 {
		t.Errorf("flipped %d times", f.Count)
	}
	f = one(t, `C> type=EDS V= N= R=[e1] node=n1
S< type=EDS V=1 N=a res=[]
C> type=EDS V=1 N=a R=[e1] x100
`, "request-flood")
	if f.Count != 4 {
		t.Errorf("a flood of 100 is told %d times", f.Count)
	}
}

// Of a rule that is about both sides the finding says which.
func TestFaultOfEitherSide(t *testing.T) {
	const name = `"xdstp://a/envoy.config.listener.v3.Listener/x"`
	found := of(judgeText(t, "D> type=CDS N= sub=["+name+"] node=n1\nd< type=CDS N=a res=["+name+"@1]\n"), "xdstp-type-mismatch")
	if len(found) != 2 || found[0].Fault != check.ClientFault || found[1].Fault != check.ServerFault {
		t.Errorf("%s", words(found))
	}
	f := one(t, "C> type=v2.CDS V= N= R=[] node=n1\nC> type=CDS V= N= R=[]\n", "api-version-mixed")
	if f.Fault != check.ClientFault {
		t.Errorf("two requests: fault of the %s", f.Fault)
	}
	f = one(t, "C> type=v2.CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n", "api-version-mixed")
	if f.Fault != check.ServerFault {
		t.Errorf("request and response: fault of the %s", f.Fault)
	}
}

// Two streams of one node are told once, however long they stay.
func TestTwinsAreToldOnce(t *testing.T) {
	f := one(t, `C> type=CDS V= N= R=[] node=n1
-- stream 2 peer=other-ip
C> type=CDS V= N= R=[] node=n1
t=+31s @1 S< type=CDS V=1 N=a res=[c1]
@1 C> type=CDS V=1 N=a R=[]
@2 S< type=CDS V=1 N=a res=[c1]
@2 C> type=CDS V=1 N=a R=[]
t=+1300s @1 S< type=CDS V=2 N=b res=[c2]
@1 C> type=CDS V=2 N=b R=[]
`, "duplicate-ads-stream")
	if f.Client != "n1" || f.Type != "" || !strings.Contains(f.Message, "other-ip") {
		t.Errorf("%s %q: %s", f.Client, f.Type, f.Message)
	}
	if f.Count != 1 {
		t.Errorf("told %d times", f.Count)
	}
}
