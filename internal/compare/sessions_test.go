package compare

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/input"
)

// TestCompared: what is said of the versions of a resource, of two messages and of
// two recordings, or why it is refused.
func TestCompared(t *testing.T) {
	at := func(name string) string {
		return filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp")
	}
	nack, other := at("envoy-sotw-nack"), at("envoy-delta-nack")
	versions := func(source, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Versions(t.Context(), source, name) }
	}
	messages := func(args ...string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Messages(t.Context(), args) }
	}
	sessions := func(a, b, name string) func(*Comparison) error {
		return func(c *Comparison) error { return c.Sessions(t.Context(), a, b, name) }
	}
	var got bytes.Buffer
	for _, tc := range []struct {
		title string
		asked Comparison
		do    func(*Comparison) error
	}{
		{"a resource", Comparison{Type: "CDS", Context: 1}, versions(nack, "web")},
		{"two steps", Comparison{Type: "CDS", Context: 1, All: true}, versions(at("grpc-go-nack"), "greeter")},
		{"what was rejected", Comparison{Type: "CDS", Context: 1}, versions(at("grpc-go-nack"), "greeter")},
		{"two steps as JSON", Comparison{Type: "CDS", Output: "json", All: true}, versions(at("grpc-go-nack"), "greeter")},
		{"the first and the last", Comparison{Type: "CDS", From: "v1", To: "v3"}, versions(at("grpc-go-nack"), "greeter")},
		{"of two types", Comparison{}, versions(nack, "web")},
		{"a resource as JSON", Comparison{Type: "CDS", Output: "json"}, versions(nack, "web")},
		{"all of its versions", Comparison{Type: "EDS", All: true}, versions(nack, "web")},
		{"from one to another", Comparison{Type: "CDS", From: "v1", To: "v2"}, versions(nack, "web")},
		{"a type that it is not of", Comparison{Type: "SDS"}, versions(nack, "web")},
		{"a client that is not there", Comparison{Client: "nobody"}, versions(nack, "web")},
		{"a name with a slip", Comparison{}, versions(nack, "wbe")},
		{"a name like nothing", Comparison{}, versions(nack, "nothing like it")},
		{"a file that is not there", Comparison{}, versions("nowhere.xdsp", "web")},
		{"two messages", Comparison{Context: 2}, messages(nack, "5", "8")},
		{"two messages as JSON", Comparison{Output: "json"}, messages(nack, "5", "8")},
		{"a message with itself", Comparison{}, messages(nack, "5", "5")},
		{"an entry that is no message", Comparison{}, messages(nack, "1", "5")},
		{"an entry that is not there", Comparison{}, messages(nack, "5", "99999")},
		{"recordings that differ", Comparison{Context: 1}, sessions(nack, at("envoy-sotw-route-to-nowhere"), "")},
		{"recordings that differ, as JSON", Comparison{Output: "json"}, sessions(nack, at("envoy-sotw-route-to-nowhere"), "")},
		{"two recordings", Comparison{}, sessions(nack, other, "")},
		{"two recordings as JSON", Comparison{Output: "json"}, sessions(nack, other, "")},
		{"a recording with itself", Comparison{}, sessions(nack, nack, "")},
		{"of one type", Comparison{Type: "CDS", Context: 1}, sessions(nack, at("demo"), "")},
		{"of one resource", Comparison{}, sessions(nack, other, "web")},
		{"of a resource that is in none", Comparison{}, sessions(nack, other, "nothing like it")},
	} {
		var out, said bytes.Buffer
		c := tc.asked
		if c.Output == "" {
			c.Output = "text"
		}
		c.Opener = &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: &out, Stderr: &said, Color: "never"}}
		err := tc.do(&c)
		fmt.Fprintf(&got, "== %s\n%s", tc.title, out.Bytes())
		if said.Len() > 0 {
			fmt.Fprintf(&got, "said: %s", said.Bytes())
		}
		fmt.Fprintf(&got, "differs: %v; %v\n", c.Differs, err)
	}
	golden.Is(t, "testdata/compared.txt", got.String())
}
