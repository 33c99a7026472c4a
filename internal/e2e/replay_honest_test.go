package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// A server that says the same in another way than the protocol has it, or does
// not wait where it waited, is told of, with or without a recording of the replay.
func TestReplayToWorseServer(t *testing.T) {
	t.Parallel()
	one, two := xdstest.Cluster("one", xdstest.ADS()), xdstest.Cluster("two", xdstest.ADS())
	client := xdstest.Part{
		ask(cds, "", ""), hear(cds, "a"), ask(cds, "1", "a"), hear(cds, "b"), ask(cds, "2", "b"), pause(quiet), leave,
	}
	good := xdstest.Part{
		hear(cds, ""), answer(cds, "1", "a", one), hear(cds, "a"), answer(cds, "2", "b", one, two), hear(cds, "b"),
	}
	recording := bothScripted(t, xdstest.SotWStream, good, client)
	for name, c := range map[string]struct {
		server   xdstest.Part
		expected string
	}{
		"good": {good, ""},
		"hasty": {xdstest.Part{
			hear(cds, ""), answer(cds, "1", "a", one), answer(cds, "2", "b", one, two), hear(cds, "b"),
		}, "each response of CDS after the answer to the one before it"},
		"nonce-reused": {xdstest.Part{
			hear(cds, ""), answer(cds, "1", "a", one), hear(cds, "a"), answer(cds, "2", "a", one, two), hear(cds, "a"),
		}, "nothing that breaks the rule response-nonce-reused"},
		"nonce-missing": {xdstest.Part{
			hear(cds, ""), answer(cds, "1", "a", one), hear(cds, "a"), answer(cds, "2", "", one, two), pause(quiet),
		}, "nothing that breaks the rule response-nonce-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startScript(t, c.server)
			args := []string{"--as", "client", "--target", s.Addr(), "--idle", "3s"}
			if name == "nonce-missing" {
				args = append(args, "-w", filepath.Join(t.TempDir(), "again.xdsp"))
			}
			r := startReplay(t, recording, args...)
			if c.expected == "" {
				r.asRecorded(t)
				return
			}
			code, report := r.end(t)
			if d := report.Differences; code != 11 || len(d) != 1 || d[0].Expected != c.expected {
				t.Errorf("exit code %d, %+v; want only %q", code, d, c.expected)
			}
		})
	}
}

// What a client checks the format of is replaced where it was masked, in the form
// in which it was sent, and told by resource and field.
func TestReplayOfMasks(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := openScene(t, v, careful(v), func(m *mesh) {
				m.listeners["ingress"] = secretive(t, m.listeners["ingress"])
			})
			r := startReplay(t, s.close(t), "--as", "server", "--listen", freeAddr(t))
			startEnvoy(t, v, envoyNode, r.addr)
			said := strings.Join(r.asRecorded(t).Notes, "\n")
			for _, want := range []string{
				`LDS "ingress" has a mask in the place of a secret, in users of envoy.extensions.filters.http.basic_auth.v3.BasicAuth`,
				`the private key of "tls" in LDS "ingress" is masked`,
				`in server_name of envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
			} {
				if !strings.Contains(said, want) {
					t.Errorf("no note says %s: %s", want, said)
				}
			}
		})
	}
}

// secretive is a listener with a certificate and users of its own, as text.
func secretive(t *testing.T, l *listenerv3.Listener) *listenerv3.Listener {
	t.Helper()
	text := func(b string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: b}}
	}
	l = proto.Clone(l).(*listenerv3.Listener)
	chain := l.FilterChains[0]
	var manager hcmv3.HttpConnectionManager
	if err := chain.Filters[0].GetTypedConfig().UnmarshalTo(&manager); err != nil {
		t.Fatal(err)
	}
	manager.HttpFilters = append([]*hcmv3.HttpFilter{{
		Name: "basic", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&basicauthv3.BasicAuth{
			Users: text("one:{SHA}tESsBmE/yNY3lb6a0L6vVQEZNqw=\ntwo:{SHA}EJ9LPFDXsN9ynSmbxvjp75Bmlx8=\n"),
		})},
	}}, manager.HttpFilters...)
	manager.ServerName = "password=x9Kq27LmZp41vTr8Wq3z"
	chain.Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed(&manager)}
	own := xdstest.NewAuthority("somebody").Issue(xdstest.Leaf{CommonName: "web", NotAfter: time.Now().AddDate(1, 0, 0)})
	chain.TransportSocket = &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: packed(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: text(string(own.CertPEM())), PrivateKey: text(string(own.KeyPEM()))}},
		}}),
	}}
	return l
}

// A recorded client that was restarted is waited for in so many words, and not
// for ever.
func TestReplayOfRestart(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			r := startReplay(t, filepath.Join(sessionsDir, "envoy-"+v.name+"-begins-anew.xdsp"), "--as", "server", "--listen", freeAddr(t), "--idle", "3s")
			startEnvoy(t, v, envoyNode, r.addr)
			code, report := r.end(t)
			told := 0
			for _, n := range report.Notes {
				if strings.Contains(n, "restart the live one within 3s") {
					told++
				}
			}
			if code != 11 || told != 1 || !strings.Contains(r.stderr.String(), "restart the live one within 3s") {
				t.Errorf("exit code %d, told %d times: %+v", code, told, report)
			}
		})
	}
}
