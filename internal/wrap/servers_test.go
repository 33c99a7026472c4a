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
