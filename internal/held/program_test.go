package held

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/session"
)

// statusService is the client status service of a program.
type statusService struct {
	statusv3.UnimplementedClientStatusDiscoveryServiceServer
	nodes atomic.Pointer[[]string]
	shown atomic.Pointer[[]string] // the tokens of the last call
}

func (s *statusService) FetchClientStatus(ctx context.Context, _ *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	shown := metadata.ValueFromIncomingContext(ctx, "authorization")
	s.shown.Store(&shown)
	m := &statusv3.ClientStatusResponse{}
	for _, id := range *s.nodes.Load() {
		m.Config = append(m.Config, &statusv3.ClientConfig{Node: &corev3.Node{Id: id}})
	}
	return m, nil
}

// serve serves it until the test ends.
func (s *statusService) serve(t *testing.T, o ...grpc.ServerOption) string {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(o...)
	statusv3.RegisterClientStatusDiscoveryServiceServer(g, s)
	go func() { _ = g.Serve(at) }()
	t.Cleanup(g.Stop)
	return at.Addr().String()
}

// A program that says what it said before is not read again, unless all of it is wanted.
// What could not be read is read each time, so that it is said why.
func TestProgramSaysTheSame(t *testing.T) {
	var s statusService
	p := program{place: &Place{Source: CSDS, Network: "tcp", Address: s.serve(t)}, access: &Access{}}
	for i, c := range []struct {
		nodes string
		again bool
		want  string
	}{
		{"n1", false, "n1"},
		{"n1", false, "nothing new"},
		{"n1", true, "n1"},
		{"n2", false, "n2"},
		{"n1 n2", false, "it is several nodes, which cannot be told apart"},
		{"n1 n2", false, "it is several nodes, which cannot be told apart"},
		{"n2", false, "nothing new"},
	} {
		nodes := strings.Fields(c.nodes)
		s.nodes.Store(&nodes)
		a, err := p.ask(t.Context(), c.again)
		got := "nothing new"
		switch {
		case err != nil:
			got = err.Error()
		case a != nil:
			got = a.id
		}
		if got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
}

// A program that speaks TLS is asked if its roots are named, and what is wrong with the
// files that name them and the token is said before it is asked.
func TestProgramWithTLS(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	s, nodes := statusService{}, []string{"n1"}
	s.nodes.Store(&nodes)
	addr := s.serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&certified.TLS.Certificates[0])))
	ca, token := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "token")
	for file, text := range map[string]string{ca: pemOf(certified.Certificate()), token: "s3cret\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		access Access
		shown  []string
		want   string // what is wrong; "": nothing
	}{
		{Access{CA: ca}, nil, ""},
		{Access{CA: ca, Token: token}, []string{"Bearer s3cret"}, ""},
		{Access{CA: ca, Token: ca}, nil, "the token in "},
		{Access{CA: ca + ".gone"}, nil, "the file of --held-ca cannot be read: "},
		{Access{CA: ca, Token: ca + ".gone"}, nil, "the file of --held-token-file cannot be read: "},
	} {
		s.shown.Store(new([]string))
		p := program{place: &Place{Source: CSDS, Network: "tcp", Address: addr, TLS: true}, access: &c.access}
		a, err := p.ask(t.Context(), false)
		if c.want == "" && (err != nil || a == nil || a.id != "n1") || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c.access, a, err)
		}
		if shown := *s.shown.Load(); !slices.Equal(shown, c.shown) {
			t.Errorf("%+v: it is shown %q", c.access, shown)
		}
	}
}

// Who is woken is asked soon: the client that is named, and each of which it is not known
// yet who it is. Nobody waits for one that has been woken already.
func TestWake(t *testing.T) {
	k := &Keeper{}
	for _, node := range []string{"", "n1", "n2", "later"} {
		p := newPoller(k, &Options{}, &Place{Source: CSDS, Node: node})
		if node == "later" { // it has said that it has no id
			none := ""
			p.node.Store(&none)
		}
		k.pollers = append(k.pollers, p)
	}
	woken := func() (out []int) {
		for i, p := range k.pollers {
			select {
			case <-p.wake:
				out = append(out, i)
			default:
			}
		}
		return out
	}
	equal := func(what string, want ...int) {
		t.Helper()
		if got := woken(); !slices.Equal(got, want) {
			t.Errorf("%s: %v are woken, want %v", what, got, want)
		}
	}
	k.Wake("n1")
	k.Wake("n1")
	equal("n1", 0, 1, 3)
	k.Wake("n3")
	equal("one that is not asked", 0, 3)
	k.WakeAll()
	equal("all", 0, 1, 2, 3)
	equal("nobody")
}

// Two places are the same if the same is asked of them in the same way, whoever is meant.
func TestSamePlace(t *testing.T) {
	p := Place{Source: CSDS, Network: "tcp", Address: "127.0.0.1:1"}
	for _, c := range []struct {
		q    Place
		same bool
	}{
		{p, true},
		{Place{Source: CSDS, Network: "tcp", Address: "127.0.0.1:1", Node: "n1"}, true},
		{Place{Source: EnvoyAdmin, Network: "tcp", Address: "127.0.0.1:1"}, false},
		{Place{Source: CSDS, Network: "unix", Address: "127.0.0.1:1"}, false},
		{Place{Source: CSDS, Network: "tcp", Address: "127.0.0.1:2"}, false},
	} {
		if p.Same(&c.q) != c.same || c.q.Same(&p) != c.same {
			t.Errorf("%+v is the same: %v", c.q, !c.same)
		}
	}
}

// What a dump says is an entry of whoever told it.
func TestEntriesOfADump(t *testing.T) {
	at := time.Unix(1, 0)
	for by, want := range map[configdump.Teller]string{configdump.ByCSDS: session.HeldCSDS, configdump.ByEnvoy: session.HeldAdmin} {
		entries, err := Entries(&configdump.Dump{Node: "n1", By: by}, "10.0.0.1:1", at, true)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		e := entries[0]
		if e.Held.Source != want || e.Held.Node != "n1" || e.Held.Address != "10.0.0.1:1" || !e.Held.Whole || !e.Time.Equal(at) || e.Message.Size == 0 {
			t.Errorf("%+v of %+v", e, e.Held)
		}
	}
}
