package pushes

import (
	"fmt"
	"testing"
	"time"
)

// A version of a client's own is that of a push for who was not sent the type.
func TestVersionsOfEachClient(t *testing.T) {
	_, _, in, p := one(t)
	in.mark = "another"
	for i, v := range []struct {
		of   *member
		want bool
	}{
		{nil, true},
		{&member{parts: []*part{{typ: "LDS"}}}, true},
		{&member{parts: []*part{{typ: "CDS"}}}, false},
		{&member{parts: []*part{{typ: "LDS"}, {typ: "CDS"}}}, false},
	} {
		p.members = make(map[string]*member)
		if v.of != nil {
			p.members[in.client.id] = v.of
		}
		is(t, fmt.Sprint(i), p.own(in), v.want)
	}
	p.members = nil
	for mark, want := range map[string]bool{"another": true, "2": false, "2026-08-27T10:00:00Z/2": false} {
		in.mark = mark
		is(t, mark, p.own(in), want)
	}
	in.mark, p.types["CDS"].Clients = "another", 2
	is(t, "one version for two clients", p.own(in), false)
}

// With a stream what was missing on it is over, and nothing else.
func TestWhatIsMissingOnAStreamThatEnds(t *testing.T) {
	_, g, in, p := one(t)
	id := in.sub.Stream.ID
	before := time.Unix(5, 0)
	here, there, over := &window{push: p, from: moment{stream: id}}, &window{push: p, from: moment{stream: id + 1}}, &window{push: p, from: moment{stream: id}, over: before}
	in.client.open = []*window{here, there, over}
	g.left(in.sub)
	is(t, "on the stream", here.over, g.now)
	is(t, "on another one", there.over.IsZero(), true)
	is(t, "over before", over.over, before)
	is(t, "the answer", p.members[in.client.id].state(), Gone)
}

// Who has what a resource was two changes ago is behind with it as well; it is said whether
// it owes the answer to what it was sent.
func TestBehindByTwoChanges(t *testing.T) {
	for answer, owes := range map[string]bool{"": true, "@2 C> type=CDS V=2026-08-27T10:00:00Z/1 N=a R=[]\n": false} {
		k, g, _ := played(t, `C> type=CDS V= N= R=[] node=n1
-- stream 2
C> type=CDS V= N= R=[] node=n2
@1 S< type=CDS V=2026-08-27T10:00:00Z/1 N=a res=[web#1]
@2 S< type=CDS V=2026-08-27T10:00:00Z/1 N=a res=[web#1]
@1 C> type=CDS V=2026-08-27T10:00:00Z/1 N=a R=[]
`+answer+`t=+20s @1 S< type=CDS V=2026-08-27T10:00:20Z/2 N=b res=[web#2]
@1 C> type=CDS V=2026-08-27T10:00:20Z/2 N=b R=[]
t=+20s @1 S< type=CDS V=2026-08-27T10:00:40Z/3 N=c res=[web#3]
`)
		for n := 2; n <= 3; n++ {
			p, _ := g.Push(k, n)
			is(t, fmt.Sprint("behind with ", n), fmt.Sprint(p.Unsents), fmt.Sprint([]Unsent{{Client: "n2", Type: "CDS", Name: "web", Owes: owes}}))
		}
	}
}
