package agree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// What was told in different ways once.
func TestOnceDisagreed(t *testing.T) {
	for name, text := range map[string]string{
		"a rejection of a response without a nonce": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N= res=[c1]
C> type=CDS V= N= R=[] err="bad"`,
		"the same in delta": `
D> type=CDS N= sub=[] node=n1
d< type=CDS N= res=[c1@1]
D> type=CDS N= sub=[] err="bad"`,
		"another version, and no error": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#h2]
C> type=CDS V=1 N=b R=[]`,
		"a loop of rejections": loopOf(7359),
		"streams that end one by one": `
-- stream 1 method=StreamClusters node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
-- stream 2 method=StreamEndpoints node=n1
C> type=EDS V= N= R=[c1] node=n1
S< type=EDS V=1 N=b res=[c1]
C> type=EDS V= N=b R=[c1] err="bad"
@2 -- server-end code=14
@1 -- server-end code=14`,
		"a poll that refuses for ever": `
P> path=/v3/discovery:clusters type=CDS V= R=[] node=n1
p< 200 type=CDS V=1 res=[c1]
t=+5s P> path=/v3/discovery:clusters type=CDS V= R=[] err="bad" node=n1
p< 200 type=CDS V=1 res=[c1]
t=+5s P> path=/v3/discovery:clusters type=CDS V= R=[] err="bad" node=n1`,
		"a poll that accepts": `
P> path=/v3/discovery:clusters type=CDS V= R=[] node=n1
p< 200 type=CDS V=1 res=[c1]
t=+5s P> path=/v3/discovery:clusters type=CDS V=1 R=[] node=n1
p< 304`,
		"a scope that is absent": `
C> type=SRDS V= N= R=[] node=n1
S< type=SRDS V=1 N=a res=[s1,s2]
C> type=SRDS V=1 N=a R=[]
S< type=SRDS V=2 N=b res=[s1]
C> type=SRDS V=2 N=b R=[]`,
		"clusters without versions of which one is rejected": `
D> type=CDS N= sub=[] node=n1
d< type=CDS N=a res=[c1#h1,c2#h1,c3#h1]
D> type=CDS N=a sub=[]
d< type=CDS N=b res=[c2#h2]
D> type=CDS N=b sub=[] err="bad"`,
		"an acceptance that is taken back": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
C> type=CDS V=1 N=a R=[] err="bad"
C> type=CDS V=1 N=a R=[] err="worse"`,
		"a late rejection of an older response": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V= N=b R=[] err="bad"
C> type=CDS V= N=a R=[] err="older"`,
		"what was rejected comes again under another version": `
C> type=EDS V= N= R=[e1] node=n1
S< type=EDS V=1 N=a res=[e1#1]
C> type=EDS V= N=a R=[e1] err="bad"
t=+1h S< type=EDS V=2 N=b res=[e1#1]
t=+30s -- tick`,
		"what was rejected comes again after a reconnect": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=1 N=b R=[] err="bad"
-- server-end code=14
t=+1s -- stream 2
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=2 N=c res=[c1#2]`,
		"an echo that tells nothing": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V= N=a R=[]`,
		"two streams of which one has less": `
-- stream 1 peer=10.0.0.1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[]
-- stream 2 peer=10.0.0.2
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=b res=[c2#1]
C> type=CDS V=1 N=b R=[]`,
		"a heartbeat overtakes the verdict": `
C> type=RTDS V= N= R=[x] node=n1
S< type=RTDS V=1 N=a res=[x#1~50s]
S< type=RTDS V=1 N=b res=[hb:x~50s]
C> type=RTDS V=1 N=b R=[x]
t=+40s -- tick`,
		"a rejected version beside an accepted one": `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1,c2]
C> type=CDS V=1 N=b R=[] err="bad"`,
		"twenty streams that reject": rejectingStreams(20),
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := play(strings.TrimPrefix(text, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			few(t, try(entries))
		})
	}
}

// loopOf is a client that accepted something and then rejects what comes, so many
// times.
func loopOf(rounds int) string {
	var b strings.Builder
	b.WriteString("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n")
	for i := range rounds {
		fmt.Fprintf(&b, "S< type=CDS V=2 N=b%d res=[c1#h2]\nC> type=CDS V=1 N=b%d R=[] err=\"bad\"\n", i, i)
	}
	b.WriteString("S< type=CDS V=2 N=c res=[c1#h2]\n")
	return b.String()
}

// rejectingStreams is a client that reconnects so many times and rejects what it
// is sent.
func rejectingStreams(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "-- stream %d method=StreamEndpoints node=n1\n@%d C> type=EDS V= N= R=[e1]\n", i, i)
		fmt.Fprintf(&b, "@%d S< type=EDS V=1 N=a%d res=[e1]\n@%d C> type=EDS V= N=a%d R=[e1] err=bad\n@%d -- server-end code=14\n", i, i, i, i, i)
	}
	return b.String()
}

// Who names no node is known by the connection, and stands somewhere like others.
func TestNoNode(t *testing.T) {
	entries, err := play("C> type=CDS V= N= R=[]\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V= N=a R=[] err=bad\n")
	if err != nil {
		t.Fatal(err)
	}
	k := check.NewChecker(check.Options{})
	for i := range entries {
		k.Step(&entries[i])
	}
	all := k.Status()
	if len(all) != 1 || all[0].Client != "conn 1" || len(all[0].Types) != 1 || all[0].Types[0].State != engine.Nacked || all[0].Types[0].Nacks != 1 {
		t.Errorf("%+v", all)
	}
	if tree := k.Tree("conn 1"); tree == nil || len(tree.Dangling) != 1 || tree.Dangling[0].State != engine.Rejected {
		t.Errorf("%+v", tree)
	}
}
