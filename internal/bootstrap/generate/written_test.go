package generate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// TestWritten: what is written for clients that asked in different ways, as it is read.
func TestWritten(t *testing.T) {
	var out strings.Builder
	say := func(name string, text []byte, err error) { fmt.Fprintf(&out, "== %s: %v\n%s\n", name, err, text) }
	collections := Client{ADS: Delta, Asks: []Ask{{Type: "CDS", Names: []string{"xdstp://a/c/*"}}, {Type: "LDS", API: SotW, Names: []string{"xdstp://a/l/*"}}}, Context: []string{"id"}}
	for _, c := range []struct {
		name   string
		client Client
		server string
		admin  string
	}{
		{"all there may be", whole, "127.0.0.1:1234", "127.0.0.1:9901"},
		{"collections", collections, "127.0.0.1:1234", ""},
		{"one list", Client{Node: []byte(`{"id":"n","cluster":"c"}`), Asks: []Ask{{Type: "CDS", API: SotW}}}, "unix:/s", ""},
		{"an admin address that is none", whole, "127.0.0.1:1", "nowhere"},
		{"a node that is none", Client{Node: []byte("{"), Asks: []Ask{{Type: "CDS"}}}, "127.0.0.1:1", ""},
	} {
		text, err := c.client.Envoy(c.server, c.admin)
		say(c.name, text, err)
		text, err = c.client.ForGRPC(c.server)
		say(c.name+", for gRPC", text, err)
	}
	golden.Is(t, "testdata/written.txt", out.String())
}
