package generate

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// A client that polls gets sources that poll, over clusters of the protocol that it
// spoke; where it has streams, too, of the one that they need.
func TestEnvoyThatPolls(t *testing.T) {
	for name, c := range map[string]struct {
		client  Client
		want    []string
		without string
	}{
		"HTTP/1.1": {
			Client{REST: &REST{HTTP1: true, Timeout: 1500 * time.Millisecond}, Asks: []Ask{{Type: "CDS", API: Polls}}},
			[]string{`"api_type": "REST"`, `"request_timeout": "1.5s"`, `"http_protocol_options"`},
			`"http2_protocol_options"`,
		},
		"HTTP/2": {
			Client{REST: &REST{}, Asks: []Ask{{Type: "LDS", API: Polls}}},
			[]string{`"api_type": "REST"`, `"request_timeout": "30s"`, `"http2_protocol_options"`},
			`"http_protocol_options"`,
		},
		"streams, too": {
			Client{REST: &REST{HTTP1: true}, Asks: []Ask{{Type: "CDS", API: Polls}, {Type: "LDS", API: SotW}}},
			[]string{`"api_type": "REST"`, `"api_type": "GRPC"`, `"http2_protocol_options"`},
			`"http_protocol_options"`,
		},
	} {
		text, err := c.client.Envoy("127.0.0.1:1234", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %s in\n%s", name, want, text)
			}
		}
		if strings.Contains(string(text), c.without) {
			t.Errorf("%s: %s in\n%s", name, c.without, text)
		}
		if d, err := bootstrap.Parse("x.json", text, nil); err != nil || len(d.Servers) != 1 || d.Servers[0].Address != "127.0.0.1:1234" {
			t.Errorf("%s: %v, %+v", name, err, d)
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
