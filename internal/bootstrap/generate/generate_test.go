package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
)

// whole is a client of which all there may be is known.
var whole = Client{
	Node: []byte(`{"id":"n","locality":{"zone":"z"},"metadata":{"a":[1,"b"]}}`),
	ADS:  Delta,
	Asks: []Ask{
		{Type: "CDS"}, {Type: "LDS", API: SotW}, {Type: "RTDS", Names: []string{"layer"}}, {Type: "EDS", API: Delta, Names: []string{"own"}},
	},
	Clusters:    []Cluster{{Name: "agent", Server: true}, {Name: "elsewhere"}, {Name: "xdsproxy-replay"}},
	Authorities: []string{"a.example", ""},
}

// What is written is read again as what it was meant to be.
func TestEnvoy(t *testing.T) {
	for server, want := range map[string]string{
		"127.0.0.1:1234": "127.0.0.1:1234", "[::]:1234": "127.0.0.1:1234", ":1234": "127.0.0.1:1234",
		"[::1]:1234": "[::1]:1234", "unix:/run/a.sock": "unix:/run/a.sock",
	} {
		text, err := whole.Envoy(server, "127.0.0.1:9901")
		if err != nil {
			t.Fatal(err)
		}
		d, err := bootstrap.Parse("x.json", text, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(d.Servers) != 1 || d.Servers[0].Address != want || d.Servers[0].Obstacle != nil || len(d.Servers[0].Uses) != 3 {
			t.Errorf("%s: %+v", server, d.Servers[0])
		}
		if want := []string{"xdsproxy-replay-", "agent", "elsewhere", "xdsproxy-replay", "own"}; !slices.Equal(d.Clusters, want) {
			t.Errorf("clusters %q", d.Clusters)
		}
	}
	if _, err := (&Client{}).Envoy("127.0.0.1:1", ""); err != ErrNothingAsked {
		t.Error(err)
	}
	for _, server := range []string{"nowhere", "a:b"} {
		if _, err := whole.Envoy(server, ""); err == nil {
			t.Errorf("%s is an address", server)
		}
	}
}

func TestForGRPC(t *testing.T) {
	for server, want := range map[string]string{
		"127.0.0.1:1234": "127.0.0.1:1234", "0.0.0.0:1": "127.0.0.1:1", "unix:/run/a.sock": "unix:/run/a.sock", "unix:@a": "unix:@a",
	} {
		text, err := whole.ForGRPC(server)
		if err != nil {
			t.Fatal(err)
		}
		d, err := bootstrap.Parse("x.json", text, nil)
		if err != nil || d.Kind != bootstrap.GRPC || len(d.Servers) != 1 || d.Servers[0].Address != want {
			t.Errorf("%s: %v, %+v in\n%s", server, err, d, text)
		}
		if !strings.Contains(string(text), `"a.example"`) || !strings.Contains(string(text), `"zone": "z"`) {
			t.Errorf("%s", text)
		}
	}
}
