package pushes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/pushes"
)

// TestTold: all that is told of the pushes of recorded sessions and of
// conversations as text, at their end and in their middle.
func TestTold(t *testing.T) {
	for _, name := range []string{"systems/istio-sidecar-delta", "systems/jcp-per-type-delta", "sessions/envoy-sotw-removed-while-routed", "sessions/envoy-delta-removed-while-routed", "sessions/envoy-sotw-restart"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var out strings.Builder
			var began time.Time
			n := 0
			k, g := read(t, name+".xdsp", pushes.Options{}, func(k *check.Checker, g *pushes.Grouper) {
				if began.IsZero() {
					began = k.Now
				}
				if n++; n%97 == 0 {
					fmt.Fprintf(&out, "so far\n%s", told(k, g, began))
				}
			})
			out.WriteString(told(k, g, began))
			golden.Is(t, filepath.Join("testdata", "told", filepath.Base(name)+".txt"), out.String())
		})
	}
	list, err := filepath.Glob(filepath.Join("testdata", "told", "*.xds"))
	if err != nil || len(list) == 0 {
		t.Fatal(err, list)
	}
	for _, path := range list {
		name := strings.TrimSuffix(path, ".xds")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := script.Parse(path, text)
			if err != nil {
				t.Fatal(err)
			}
			k, g := check.NewChecker(check.Options{Rules: []*check.Rule{}}), pushes.New(pushes.Options{})
			var out strings.Builder
			var began time.Time
			last := ""
			for e := range s.Entries() {
				if began.IsZero() {
					began = e.Time
				}
				step(k, g, &e)
				if now := told(k, g, began); now != last {
					fmt.Fprintf(&out, "#%d push %d\n%s", e.Seq, g.Of(e.Seq), changed(last, now))
					last = now
				}
			}
			golden.Is(t, name+".txt", out.String())
		})
	}
}

func told(k *check.Checker, g *pushes.Grouper, began time.Time) string {
	var out strings.Builder
	for i, h := range g.Heads(k.Engine, 0) {
		p, is := g.Push(k.Engine, h.N)
		fmt.Fprintf(&out, "%s\n", golden.Compact(h, began))
		if !is {
			fmt.Fprintf(&out, "  is not there\n")
		}
		for _, part := range []struct {
			name string
			list any
		}{{"type", p.Each}, {"change", p.Changes}, {"member", p.Members}, {"unsent", p.Unsents}, {"missing", p.Missing}, {"move", p.Moves}} {
			for _, one := range reflect.ValueOf(part.list).Seq2() {
				fmt.Fprintf(&out, "  %d %s %s\n", i+1, part.name, golden.Compact(one.Interface(), began))
			}
		}
		if p.MoreClients+p.MoreChanges+p.MoreGaps > 0 {
			fmt.Fprintf(&out, "  more: %d clients, %d changes, %d gaps\n", p.MoreClients, p.MoreChanges, p.MoreGaps)
		}
	}
	if _, is := g.Push(k.Engine, 0); is {
		out.WriteString("there is a push 0\n")
	}
	if _, is := g.Push(k.Engine, len(g.Heads(k.Engine, 0))+1); is {
		out.WriteString("there is one more push\n")
	}
	return out.String()
}

// changed are the lines that were not there before.
func changed(before, now string) string {
	was := make(map[string]bool)
	for line := range strings.Lines(before) {
		was[line] = true
	}
	var out strings.Builder
	for line := range strings.Lines(now) {
		if !was[line] {
			out.WriteString(line)
		}
	}
	return out.String()
}
