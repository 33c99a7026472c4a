package pushes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// read gives a recording to a Grouper.
func read(t *testing.T, path string, o pushes.Options, each func(*check.Checker, *pushes.Grouper)) (*check.Checker, *pushes.Grouper) {
	t.Helper()
	r, err := recorder.Open("../../check/testdata/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k, g := check.NewChecker(check.Options{Rules: []*check.Rule{}}), pushes.New(o)
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		step(k, g, &e)
		if each != nil {
			each(k, g)
		}
	}
	return k, g
}

func step(k *check.Checker, g *pushes.Grouper, e *session.Entry) {
	c := k.Step(e)
	g.Step(k.Engine, e, &c.Change)
}

// line is what is told of a push, without its times.
func line(h *pushes.Head) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", h.N, strings.Join(h.Types, ","))
	for _, n := range []struct {
		count int
		word  string
	}{
		{h.Added, "added"},
		{h.Changed, "changed"},
		{h.Removed, "removed"},
		{h.Renamed, "renamed"},
		{h.Swaps, "swaps"},
		{h.Accepted, "accepted"},
		{h.Rejected, "rejected"},
		{h.Pending, "pending"},
		{h.Left, "left"},
		{h.Unsent, "unsent"},
		{h.Open, "open"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, " %d %s", n.count, n.word)
		}
	}
	if h.Gap > 0 && h.Open == 0 {
		b.WriteString(" gap")
	}
	if h.Start {
		b.WriteString(" start")
	}
	return b.String()
}

func lines(k *check.Checker, g *pushes.Grouper) string {
	var out []string
	for _, h := range g.Heads(k.Engine, 0) {
		out = append(out, line(&h))
	}
	return strings.Join(out, "\n")
}

// What real control planes push is told as it was. What went wrong with the order
// of it is true of them: see the texts beside the recordings.
func TestSystems(t *testing.T) {
	for _, v := range []struct{ file, want string }{
		{"systems/istio-sidecar-delta.xdsp", `
1 CDS,EDS 34 added 1 accepted start
2 LDS,ECDS,RDS 14 added 1 accepted start
3 EDS 6 changed 1 accepted
4 CDS,LDS,RDS,EDS 2 added 1 changed 1 accepted
5 CDS,EDS,LDS,RDS 2 changed 1 removed 1 accepted gap
6 EDS 6 changed 1 accepted`},
		{"systems/jcp-per-type-delta.xdsp", `
1 CDS,EDS,LDS,RDS 6 added 1 accepted start
2 EDS 1 changed 1 accepted
3 CDS,LDS,EDS,RDS 5 added 1 changed 1 accepted
4 CDS,LDS,RDS 1 changed 3 removed 1 accepted gap
5 LDS 1 added 1 rejected`},
		{"systems/consul-updates.xdsp", `
1 CDS,EDS,LDS,RDS 18 added 3 accepted start
2 EDS,LDS,RDS 2 changed 2 accepted
3 LDS,RDS 1 added 1 changed 3 accepted
4 CDS,LDS,EDS,RDS 8 added 2 changed 2 removed 3 accepted
5 LDS,RDS 1 changed 2 accepted
6 LDS,RDS,CDS 2 removed 1 accepted
7 LDS,CDS,EDS,RDS 4 added 2 changed 4 removed 2 swaps 3 accepted
8 CDS,EDS,LDS 3 added 1 accepted`},
		{"systems/grpc-java.xdsp", `
1 LDS,RDS,CDS,EDS 4 added 1 accepted start
2 CDS,EDS,RDS,LDS 1 changed 1 accepted
3 LDS,RDS,CDS,EDS 2 added 1 changed 1 removed 1 swaps 1 accepted
4 CDS,LDS,RDS,EDS 1 changed 1 rejected`},
		{"sessions/envoy-delta-removed-while-routed.xdsp", ""},
	} {
		k, g := read(t, v.file, pushes.Options{}, nil)
		gaps := 0
		for _, h := range g.Heads(k.Engine, 0) {
			if h.Gap > 0 {
				gaps++
			}
		}
		if text := lines(k, g); v.want != "" && text != strings.TrimSpace(v.want) {
			t.Errorf("%s:\n%s", v.file, text)
		}
		if v.want == "" && gaps == 0 {
			t.Errorf("%s: no gap is told", v.file)
		}
	}
}

// What is asked while it is read changes nothing of what is told in the end.
func TestAskedMeanwhile(t *testing.T) {
	for _, file := range []string{"systems/consul-updates.xdsp", "systems/jcp-per-type-delta.xdsp", "sessions/demo.xdsp"} {
		k, g := read(t, file, pushes.Options{}, nil)
		want := fmt.Sprintf("%+v", all(k, g))
		k, g = read(t, file, pushes.Options{}, func(k *check.Checker, g *pushes.Grouper) { all(k, g) })
		if got := fmt.Sprintf("%+v", all(k, g)); got != want {
			t.Errorf("%s: another story\n%s\n%s", file, got, want)
		}
	}
}

// all is every push in full.
func all(k *check.Checker, g *pushes.Grouper) (out []pushes.Push) {
	for _, h := range g.Heads(k.Engine, 0) {
		p, _ := g.Push(k.Engine, h.N)
		out = append(out, p)
	}
	return out
}

// How far responses of a burst may be apart is what the user says.
func TestWithin(t *testing.T) {
	count := func(d time.Duration) int {
		k, g := read(t, "systems/consul-updates.xdsp", pushes.Options{Within: d}, nil)
		return len(g.Heads(k.Engine, 0))
	}
	if short, usual, long := count(time.Millisecond), count(0), count(time.Hour); short <= usual || long >= usual {
		t.Errorf("%d pushes within a millisecond, %d as usual, %d within an hour", short, usual, long)
	}
}
