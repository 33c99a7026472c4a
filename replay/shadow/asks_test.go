package shadow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// hears requires that a control plane is asked this next.
func (p *plane) hears(t *testing.T, path, want string) {
	t.Helper()
	select {
	case b := <-p.heard:
		m := decode.Peek(xds.LookupMethod(path), session.Client, "", b)
		got := fmt.Sprintf("%s v%s n%s %q +%q -%q", xds.ShortType(m.TypeURL), m.Version, m.Nonce, m.Names, slices.Sorted(slices.Values(m.Subscribe)), m.Unsubscribe)
		if m.Node != nil {
			got += " by " + m.Node.ID
		}
		if m.Error != nil {
			got += fmt.Sprintf(" %d %s", m.Error.Code, m.Error.Message)
		}
		if got != want {
			t.Errorf("asked is %s, not %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Errorf("nothing is asked, not %s", want)
	}
}

// A target is asked what the client asks for, and what the client makes of a content the shadow makes of the same.
func TestAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t, nil)
		r := start(t, Options{Target: p.target("B"), Idle: time.Minute}, response("1", "a"))
		p.hears(t, streamClusters, `CDS v n [] +[] -[] by n1`)
		p.out <- response("t1", "a")
		r.say(session.Client, (&request{url: clusters, version: "1", nonce: "1"}).encode())
		p.hears(t, streamClusters, `CDS vt1 nt1 [] +[] -[]`)
		// A rejection of what both give is said to the target in the same words.
		r.say(session.Server, response("2", "a", "b"))
		p.out <- response("t2", "a", "b")
		r.say(session.Client, (&request{url: clusters, version: "1", nonce: "2", rejects: &decode.Error{Code: 13, Message: "b is bad"}}).encode())
		p.hears(t, streamClusters, `CDS vt1 nt2 [] +[] -[] 13 b is bad`)
		// What only the target gives is accepted after a moment.
		p.out <- response("t3", "a", "c")
		p.hears(t, streamClusters, `CDS vt3 nt3 [] +[] -[]`)
		r.until(`CDS "c" of "n1": B gives it, and the live server does not`)
		r.until(`CDS "b" of "n1": B does not give it`)
		p.out <- response("t4", "a", "b")
		r.until(`CDS "b" of "n1": both servers give the same`)
		r.until(`CDS "c" of "n1": both servers give the same`)
		sum := r.end()
		if sum.Streams != 1 || sum.Clients != 1 || sum.Answers != 2 || sum.Compared != 2 || sum.Again != 0 || sum.Skipped != 0 || sum.Settled != 2 || sum.Different() {
			t.Errorf("%+v\n%s", sum, r.text())
		}
	})
}

// The same in delta, with names that come and go.
func TestAsksInDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "D> type=CDS sub=[a,b] node=n1\nd< type=CDS N=1 res=[a@1,b@1]\nD> type=CDS N=1\nD> type=CDS sub=[c] unsub=[b]\nd< type=CDS N=2 res=[c@1,a@2]\nD> type=CDS N=2 err=\"c is bad\" code=3\n"
		m := messagesOf(t, text)
		p := newPlane(t, nil)
		r := startWith(t, runs(Options{Target: p.target("B"), Idle: time.Minute}))
		r.opens(1, deltaClusters, "n1", &request{delta: true, url: clusters, names: []string{"a", "b"}})
		p.hears(t, deltaClusters, `CDS v n [] +["a" "b"] -[] by n1`)
		r.say(session.Server, m[1])
		p.out <- m[1]
		r.say(session.Client, m[2])
		p.hears(t, deltaClusters, `CDS v n1 [] +[] -[]`)
		r.say(session.Client, m[3])
		p.hears(t, deltaClusters, `CDS v n [] +["c"] -["b"]`)
		r.say(session.Server, m[4])
		p.out <- m[4]
		r.say(session.Client, m[5])
		p.hears(t, deltaClusters, `CDS v n2 [] +[] -[] 3 c is bad`)
		if sum := r.end(); sum.Answers != 2 || sum.Compared != 2 || sum.Different() {
			t.Errorf("%+v\n%s", sum, r.text())
		}
	})
}

// A target that ends its streams is asked for everything again, and what was wrong is told.
func TestTargetEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  error
		want string
	}{
		{"without a word", nil, "B: it ended a stream with OK; the shadow goes on trying"},
		{"with a reason", status.Error(codes.ResourceExhausted, "too many clients"), "B: it ended a stream with ResourceExhausted: too many clients; the shadow goes on trying"},
		{"since it cannot", status.Error(codes.Unimplemented, "unknown service"), "B: it does not speak sotw, as the clients do; the shadow goes on trying"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlane(t, response("1", "a"))
				r := start(t, Options{Target: p.target("B"), Idle: time.Minute}, response("1", "a", "b"))
				p.hears(t, streamClusters, `CDS v n [] +[] -[] by n1`)
				p.hears(t, streamClusters, `CDS v1 n1 [] +[] -[]`)
				p.ends <- c.end
				ended := time.Now()
				r.until(c.want)
				p.hears(t, streamClusters, `CDS v n [] +[] -[] by n1`)
				if d := time.Since(ended); d < time.Second/10 || d > time.Second/4 { // of the bubble
					t.Errorf("it is asked again after %v", d)
				}
				p.out <- response("1", "a", "b")
				r.until("B answers again after ")
				r.add(session.Entry{Kind: session.KindDisconnect, Side: session.Client})
				if sum := r.end(); sum.Again != 1 || sum.Skipped != 0 || sum.Streams != 1 {
					t.Errorf("%+v\n%s", sum, r.text())
				}
			})
		})
	}
}

// Why a target cannot be reached is what stands between says, and that may come after the first try.
func TestWhyNot(t *testing.T) {
	for why, want := range map[string]string{"": "B: it cannot be reached; the shadow goes on trying", "no route to it": "B: no route to it; the shadow goes on trying"} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := start(t, Options{Idle: time.Minute, Target: Target{
				Name: "B", Why: func() string { return why },
				Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("closed") },
			}}, response("1", "a"))
			r.until(want)
			r.end()
			for _, e := range r.events {
				if first := e.Time.Sub(began) < time.Second/10; e.What == Trouble && first != (why != "") {
					t.Errorf("%s: after %v", e.Text, e.Time.Sub(began))
				}
			}
			if n := strings.Count(r.text(), Trouble+": "); n != 1 {
				t.Errorf("told %d times:\n%s", n, r.text())
			}
		})
	}
}

// Only one client is followed if that was asked for; what nobody asked for is noted; a client that leaves is asked for no more.
func TestFollowsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlane(t, nil)
		r := startWith(t, runs(Options{Target: p.target("B"), Idle: time.Minute, Client: "n2"}))
		r.opens(1, streamClusters, "n1", &request{url: clusters})
		r.opens(2, streamClusters, "n2", &request{url: clusters})
		p.hears(t, streamClusters, `CDS v n [] +[] -[] by n2`)
		r.sayOn(1, session.Server, response("1", "x"))
		r.sayOn(2, session.Server, response("1", "a"))
		p.out <- response("1", "a")
		p.hears(t, streamClusters, `CDS v1 n1 [] +[] -[]`)
		r.add(session.Entry{Kind: session.KindCancel, Stream: 2, Side: session.Client, Status: &session.Status{Code: 1}})
		r.add(session.Entry{Kind: session.KindDisconnect, Stream: 1, Side: session.Client})
		sum := r.end()
		if sum.Streams != 1 || sum.Clients != 1 || sum.Answers != 1 || sum.Compared != 1 || sum.Different() {
			t.Errorf("%+v\n%s", sum, r.text())
		}
		if !strings.Contains(r.text(), "following 0 open streams; the next ones are followed when they open") {
			t.Error(r.text())
		}
	})
}
