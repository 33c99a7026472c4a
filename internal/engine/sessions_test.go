package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestAccountOfSessions: what every message of a recorded session means, and
// what is known when it is over, stays what it was.
func TestAccountOfSessions(t *testing.T) {
	for _, name := range []string{"envoy-delta-nack", "envoy-sotw-restart", "rest-two-replicas", "grpc-go-nack", "snapshot-with-ttl-expired", "client-keeps-nonces"} {
		t.Run(name, func(t *testing.T) {
			golden.Is(t, filepath.Join("testdata", "account", name+".txt"), accountOf(t, filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")))
		})
	}
}

func accountOf(t *testing.T, path string) string {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	k, excerpt := New(Options{}), NewExcerpt()
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		c := k.Step(&e)
		excerpt.Step(&e, &c, c.What == "NACK")
		if e.Kind != session.KindMessage {
			continue
		}
		n, counted := c.Count()
		fmt.Fprintf(&b, "#%d %s %s: %s; waited %v, %d named, counted %v\n", e.Seq, c.Client, c.Type, describe(c), c.Waited, n, counted)
		if s := c.Sub; s != nil {
			fmt.Fprintf(&b, "  newest %d, %d names, wild %v, active %v\n", seqOf(s.Newest()), s.Names.Len(), s.Wild, s.Active())
		}
	}
	fmt.Fprintf(&b, "excerpt: %v in %v\nneeded: %v\n", excerpt.Chosen(), excerpt.Context(), k.Needed())
	holdings := k.Holdings()
	for _, c := range k.Status() {
		fmt.Fprintf(&b, "client %s: %v\n", c.Client, c.Worst())
		for i := range c.Types {
			fmt.Fprintf(&b, "  %s\n", asJSON(t, c.Types[i]))
		}
		c.Types = nil
		fmt.Fprintf(&b, "  %s\n", asJSON(t, c))
		for _, typ := range holdings.Types(c.Client) {
			for _, h := range holdings.Of(c.Client, typ) {
				fmt.Fprintf(&b, "  holds %s %s %q since %d\n", typ, h.Name, h.Version, h.Seq)
			}
		}
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(asJSON(t, k.Tree(c.Client)), `,{"`, ",\n    {\""))
	}
	return b.String()
}

func seqOf(n *Response) session.Seq {
	if n == nil {
		return 0
	}
	return n.Seq
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
