package engine

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

var update = flag.Bool("update", false, "write testdata/account anew")

// TestAccountOfSessions: what every message of a recorded session means, and
// what is known when it is over, stays what it was.
func TestAccountOfSessions(t *testing.T) {
	for _, name := range []string{"envoy-delta-nack", "envoy-sotw-restart", "rest-two-replicas", "grpc-go-nack", "snapshot-with-ttl-expired", "client-keeps-nonces"} {
		t.Run(name, func(t *testing.T) {
			got := accountOf(t, filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp"))
			path := filepath.Join("testdata", "account", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			is, should := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range min(len(is), len(should)) {
				if is[i] != should[i] {
					t.Fatalf("%s differs in line %d; run with -update and look at the difference.\ngot:  %s\nwant: %s", path, i+1, is[i], should[i])
				}
			}
			if len(is) != len(should) {
				t.Fatalf("%s has %d lines, not %d", path, len(should), len(is))
			}
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
	k, history, excerpt := New(Options{}), NewHistory(Selection{}, nil), NewExcerpt()
	for {
		e, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := k.Step(&e)
		history.Step(&e, &c)
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
	for _, v := range history.Versions() {
		fmt.Fprintf(&b, "version: %s\n", asJSON(t, v))
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
