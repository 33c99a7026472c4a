package wrap

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/console"
)

// Of servers that cannot be wrapped it is said why; where none can be, that is an error.
func TestServers(t *testing.T) {
	fine := &bootstrap.Server{Address: "istiod:15010", Uses: []bootstrap.Use{{What: "ADS"}, {What: "ADS"}, {What: "LRS"}}}
	secured := &bootstrap.Server{Address: "istiod:15012", Names: []string{"xds-grpc", "sds"}, Uses: []bootstrap.Use{{What: "ADS"}}, Obstacle: &bootstrap.Obstacle{Why: "it wants a token", Secured: true}}
	nowhere := &bootstrap.Server{Names: []string{"xds"}, Uses: []bootstrap.Use{{What: "ADS"}}, Obstacle: &bootstrap.Obstacle{Why: "it has no address\x1b"}}
	const plaintext = "certificates can be taken over from files and from the bootstrap itself; else name a plaintext port of the server there, such as Istio's 15010"
	for _, c := range []struct {
		name    string
		servers []*bootstrap.Server
		said    string
		err     string
	}{
		{"all", []*bootstrap.Server{fine}, "xdsproxy: warning: of the bootstrap\n", ""},
		{
			"some", []*bootstrap.Server{secured, fine}, "xdsproxy: warning: cannot wrap istiod:15012 (xds-grpc, sds), for ADS: it wants a token; the command goes there directly\n" +
				"xdsproxy: hint: " + plaintext + "\nxdsproxy: warning: of the bootstrap\n", "",
		},
		{
			"some, that is not secured",
			[]*bootstrap.Server{nowhere, fine},
			"xdsproxy: warning: cannot wrap cluster xds, for ADS: it has no address\\x1b; the command goes there directly\nxdsproxy: warning: of the bootstrap\n", "",
		},
		{"none", []*bootstrap.Server{secured, nowhere}, "", "b.yaml names no xDS server that can be wrapped\nistiod:15012 (xds-grpc, sds), for ADS: it wants a token\ncluster xds, for ADS: it has no address\\x1b\n" + plaintext},
		{"none, that is not secured", []*bootstrap.Server{nowhere}, "", "b.yaml names no xDS server that can be wrapped\ncluster xds, for ADS: it has no address\\x1b"},
		{"nothing", nil, "", "b.yaml names no xDS server\nEnvoy names them by ads_config or another config source with grpc_services or cluster_names, gRPC by xds_servers"},
	} {
		var said strings.Builder
		p := &Plan{Name: "b.yaml", Doc: &bootstrap.Document{Servers: c.servers, Warnings: []string{"of the bootstrap"}}, con: &console.Console{Ctx: t.Context(), Stderr: &said}}
		got, err := p.Servers()
		text := ""
		if f, is := errors.AsType[*console.Failure](err); is {
			text = strings.Join(append([]string{f.Error()}, f.Hints...), "\n")
		}
		if said.String() != c.said || text != c.err || err == nil && (len(got) != 1 || got[0] != fine) {
			t.Errorf("%s: %d servers\n%s\n%q", c.name, len(got), said.String(), text)
		}
	}
	if got := describe(fine); got != "istiod:15010, for ADS, LRS" {
		t.Error(got)
	}
}

// A listener is of the kind that the client expects: a socket where nobody else may come,
// with the number of its server, or a port of loopback. Where the command takes any
// certificate, that is told.
func TestPairs(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	p := &Plan{Name: "b.yaml", con: &console.Console{Ctx: t.Context(), Stderr: &said}}
	use := []bootstrap.Use{{What: "ADS"}}
	inline := bootstrap.Material{Inline: "roots"}
	pairs, err := p.Pairs([]*bootstrap.Server{
		{Address: "a:1"},
		{Address: "[::1]:2", IPv6: true},
		{Address: "unix:/run/xds"},
		{Address: "b:3", Uses: use, TLS: &bootstrap.TLS{CA: inline}},
		{Address: "c:4", Uses: use, TLS: &bootstrap.TLS{AnyRoot: true, CA: inline}},
		{Address: "d:5", Uses: use, TLS: &bootstrap.TLS{AnyRoot: true, Pins: make([]bootstrap.Pin, 1)}},
	}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, pair := range pairs {
		ca := ""
		if pair.UpstreamTLS != nil {
			ca = " " + pair.UpstreamTLS.CA
		}
		got = append(got, pair.Listen.Network+" "+pair.Listen.Address+" "+pair.Upstream.Address+ca)
	}
	want := []string{
		"tcp 127.0.0.1:0 a:1", "tcp [::1]:0 [::1]:2", "unix @/3.sock /run/xds",
		"unix @/4.sock b:3 @/4-roots.pem", "unix @/5.sock c:4 @/5-roots.pem", "unix @/6.sock d:5 ",
	}
	for i := range want {
		if want[i] = strings.ReplaceAll(want[i], "@", dir); i >= len(got) || got[i] != want[i] {
			t.Errorf("pair %d is not %q of %q", i, want[i], got)
		}
	}
	if text := said.String(); text != "xdsproxy: warning: c:4, for ADS: the command takes any certificate there (its TLS context has no trusted_ca), and so does xdsproxy\n" {
		t.Error(text)
	}
	for want, s := range map[string]*bootstrap.Server{
		"x:y, for ADS: ": {Address: "x:y", Uses: use},
		"cannot wrap e:6, for ADS: its TLS context refers to XDSPROXY_NO_SUCH_KEY in the environment, which is not set": {
			Address: "e:6", Uses: use, TLS: &bootstrap.TLS{Key: bootstrap.Material{Variable: "XDSPROXY_NO_SUCH_KEY"}},
		},
	} {
		if _, err := p.Pairs([]*bootstrap.Server{s}, dir); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("no %q: %v", want, err)
		}
	}
}
