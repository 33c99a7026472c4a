package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// controlPlane is a control plane for one node, and its account.
type controlPlane struct {
	*xdstest.ControlPlane
	account *xdstest.Account
	node    string
}

func startControlPlane(t *testing.T, node string) *controlPlane {
	t.Helper()
	return startControlPlaneAs(t, node, xdstest.Options{})
}

// startControlPlaneAs starts one with options; some have other defaults here.
func startControlPlaneAs(t *testing.T, node string, o xdstest.Options) *controlPlane {
	t.Helper()
	account := xdstest.NewAccount()
	o.Account = account
	if o.Listen == "" {
		o.Listen = freeAddr(t) // which it has again after a restart: nobody else is given it meanwhile
	}
	if o.ResendPause == 0 {
		o.ResendPause = time.Hour // one round of the resend loop: the next world ends the pause
	}
	c, err := xdstest.StartControlPlane(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop()
		if !t.Failed() {
			return
		}
		for _, r := range account.Records() {
			t.Logf("account: %s stream %d %v %v %s v=%q n=%q %v %s", r.Time.Format("05.000"), r.Stream, r.Side, r.Kind,
				xdstest.ShortType(r.TypeURL), r.Version, r.Nonce, r.Names, r.Error)
		}
	})
	return &controlPlane{ControlPlane: c, account: account, node: node}
}

func (c *controlPlane) set(t *testing.T, w xdstest.World) {
	t.Helper()
	if err := c.Set(t.Context(), c.node, w); err != nil {
		t.Fatal(err)
	}
}

// wait blocks until the account is as cond wants it.
func (c *controlPlane) wait(t *testing.T, what string, cond func([]xdstest.Record) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.account.Wait(ctx, cond); err != nil {
		t.Fatalf("%s: not within %s", what, patience)
	}
}

// nack waits for a rejection and returns the last one.
func (c *controlPlane) nack(t *testing.T) xdstest.Record {
	t.Helper()
	var found xdstest.Record
	c.wait(t, "a NACK", func(rs []xdstest.Record) bool {
		for _, r := range rs {
			if r.Error != "" {
				found = r
			}
		}
		return found.Error != ""
	})
	return found
}

// settle waits until every response on the streams that are open was answered:
// then nothing is under way.
func (c *controlPlane) settle(t *testing.T) {
	t.Helper()
	c.wait(t, "an answer to every response", settled)
}

func settled(rs []xdstest.Record) bool {
	type key struct {
		stream  int
		typeURL string
	}
	pending, responses := map[key]string{}, map[int]int{}
	for _, r := range rs {
		k := key{r.Stream, r.TypeURL}
		switch {
		case r.Kind == session.KindTrailer:
			for k := range pending {
				if k.stream == r.Stream {
					delete(pending, k)
				}
			}
			delete(responses, r.Stream)
		case r.Kind == session.KindMessage && r.Side == session.Server:
			pending[k] = r.Nonce
			responses[r.Stream]++
		case r.Kind == session.KindMessage && r.Nonce == pending[k]:
			delete(pending, k)
		}
	}
	return len(responses) > 0 && len(pending) == 0
}

// rest waits until everything was answered and nothing more was said for a
// while: a client that has what it asked for may ask for what that refers to.
func (c *controlPlane) rest(t *testing.T, silence time.Duration) {
	t.Helper()
	for {
		c.settle(t)
		n := len(c.account.Records())
		time.Sleep(silence)
		if len(c.account.Records()) == n {
			return
		}
	}
}

// push makes a change that makes the control plane say something, and waits
// until all is at rest again.
func (c *controlPlane) push(t *testing.T, change func()) {
	t.Helper()
	c.pushThen(t, change, quiet)
}

// pushThen is push with a rest of another length.
func (c *controlPlane) pushThen(t *testing.T, change func(), silence time.Duration) {
	t.Helper()
	before := len(c.account.Records())
	change()
	c.wait(t, "a response", func(rs []xdstest.Record) bool {
		return slices.ContainsFunc(rs[before:], func(r xdstest.Record) bool { return r.Side == session.Server })
	})
	c.rest(t, silence)
}

// ending is how a story ends for the control plane.
type ending int

const (
	comesBack ending = iota // it goes away and comes back, and the client with it
	drains                  // it ends streams and connections in an orderly way
)

// drain waits for rest and takes the server away, with GOAWAY and trailers.
func (c *controlPlane) drain(t *testing.T) {
	t.Helper()
	c.settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.Drain(ctx)
	if ctx.Err() != nil {
		t.Error("the client does not close a connection that is going away")
	}
}

// restart waits for rest, and gives the clients a new server at the old address.
func (c *controlPlane) restart(t *testing.T) {
	t.Helper()
	c.restartAfter(t, 0)
}

// restartAfter leaves the clients without a server for a while.
func (c *controlPlane) restartAfter(t *testing.T, down time.Duration) {
	t.Helper()
	c.settle(t)
	c.Stop()
	time.Sleep(down)
	c.startAgain(t)
}

// startAgain starts a stopped control plane and waits for its first client.
func (c *controlPlane) startAgain(t *testing.T) {
	t.Helper()
	before := len(c.account.Records())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.wait(t, "a stream to the restarted control plane", func(rs []xdstest.Record) bool {
		for _, r := range rs[before:] {
			if r.Kind == session.KindMessage {
				return true
			}
		}
		return false
	})
}
