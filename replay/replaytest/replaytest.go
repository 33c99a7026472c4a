// Package replaytest is what tests of the players share: plans of recordings and
// of scripts, and both players facing each other.
package replaytest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/client"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// Sessions is where sessions are kept, for a test of a player.
const Sessions = "../../check/testdata/sessions"

// Entries gives a list of entries, one after the other.
type Entries []session.Entry

func (s *Entries) Next(context.Context) (session.Entry, error) {
	if len(*s) == 0 {
		return session.Entry{}, io.EOF
	}
	e := (*s)[0]
	*s = (*s)[1:]
	return e, nil
}

// PlanOfScript is the plan of a conversation script.
func PlanOfScript(t testing.TB, text string) *replay.Plan {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var all Entries
	for e := range s.Entries() {
		all = append(all, e)
	}
	p, err := replay.Read(t.Context(), &all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// PlanOf is the plan of a recording.
func PlanOf(t testing.TB, file string) *replay.Plan {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := replay.Read(t.Context(), r, func() (*recorder.Reader, error) { return recorder.Open(file) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// Against plays both sides of a recording Against each other.
func Against(t testing.TB, file string, o replay.Options) (server, client *replay.Report) {
	t.Helper()
	return Facing(t, PlanOf(t, file), PlanOf(t, file), o)
}

// Facing plays the server of one recording to the clients of another, in a time of its own: nobody waits for what
// they wait for.
func Facing(t testing.TB, sp, cp *replay.Plan, o replay.Options) (byServer, byClient *replay.Report) {
	t.Helper()
	o.Idle = cmp.Or(o.Idle, 5*time.Second)
	so, co := o, o
	so.Say = func(s string) { t.Log("server:", s) }
	co.Say = func(s string) { t.Log("client:", s) }
	synctest.Test(t.(*testing.T), func(t *testing.T) {
		byServer, byClient = face(t, sp, cp, so, co, func(c net.Conn) net.Conn { return c })
	})
	return byServer, byClient
}

// face lets two players meet within a bubble. What clients hear and say passes through listen.
func face(t *testing.T, sp, cp *replay.Plan, so, co replay.Options, listen func(net.Conn) net.Conn) (byServer, byClient *replay.Report) {
	l := Listen()
	served := make(chan *replay.Report)
	go func() {
		r, err := server.Serve(t.Context(), l, sp, so)
		if err != nil {
			t.Error(err)
		}
		served <- r
	}()
	byClient, err := client.Play(t.Context(), func(ctx context.Context) (net.Conn, error) {
		c, err := l.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		return listen(c), nil
	}, cp, co)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return <-served, byClient
}

// Faults are done to all that they can be done to of a script: by a played server, or by
// played clients.
func Faults(t testing.TB, server bool, text string, faults ...string) *fault.Set {
	t.Helper()
	set := &fault.Set{}
	for _, f := range faults {
		parsed, err := fault.Parse(f, server)
		if err != nil {
			t.Fatal(err)
		}
		set.All = append(set.All, parsed)
	}
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	account := engine.New(engine.Options{Names: true})
	for e := range s.Entries() {
		c := account.Step(&e)
		set.See(&e, &c, func(int) bool { return true })
	}
	return set
}
