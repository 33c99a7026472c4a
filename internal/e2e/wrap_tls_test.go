package e2e

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// hello is a world in which an Envoy answers "one".
func hello(t *testing.T, v variant) xdstest.World {
	t.Helper()
	listener := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
	return xdstest.World{
		Listeners: []*listenerv3.Listener{listener},
		Routes:    []*routev3.RouteConfiguration{xdstest.DirectRoute("routes", "one")},
	}
}

// wrapEnvoy starts an Envoy with a bootstrap in the form of the file's name,
// with one word before its command.
func wrapEnvoy(t *testing.T, file string, text object) (*proxy, *envoy, string) {
	t.Helper()
	path := tool(t, "envoy", "envoy", "_bin", "envoy")
	dir := t.TempDir()
	config, admin := filepath.Join(dir, file), filepath.Join(dir, "admin")
	writeBootstrap(t, config, text)
	p, out := startWrap(t, nil, path, "-c", config, "--admin-address-path", admin, "--concurrency", "1",
		"--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning")
	return p, &envoy{output: out, exited: p.exited}, admin
}

// end tells a wrapped command to end.
func (p *proxy) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ended(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// secured is a bootstrap whose ADS cluster is reached in a TLS context.
func (m *mutual) secured(t *testing.T, v variant, discovery, host string, context object) object {
	t.Helper()
	text := envoyBootstrap(t, v, m.node, "127.0.0.1:1")
	cluster := xdsClusterAt(discovery, socket(host, port(m.Addr())))
	cluster["transport_socket"] = tlsSocket(context)
	text["static_resources"] = object{"clusters": []object{cluster}}
	return text
}

// The real Envoy and a control plane that wants its certificate, in every way
// that the bootstrap can say so.
func TestWrapMutualTLS(t *testing.T) {
	t.Parallel()
	leaf := xdstest.Leaf{URIs: []string{planeID}, DNS: []string{"localhost", "plane.e2e"}}
	for _, c := range []struct {
		name, variant, file string
		text                func(t *testing.T, m *mutual, v variant) object
	}{
		{"files and a SPIFFE ID", "sotw", "envoy.yaml", func(t *testing.T, m *mutual, v variant) object {
			text := m.secured(t, v, "STRICT_DNS", "localhost", object{"common_tls_context": object{
				"tls_certificates":   m.own(),
				"validation_context": object{"trusted_ca": object{"filename": m.ca}, "match_typed_subject_alt_names": named("URI", planeID)},
			}})
			cluster := text["static_resources"].(object)["clusters"].([]object)[0]
			cluster["upstream_connection_options"] = object{"tcp_keepalive": object{"keepalive_time": 60}}
			cluster["dns_lookup_family"] = "V4_ONLY"
			return text
		}},
		{"inline", "delta", "envoy.json", func(t *testing.T, m *mutual, v variant) object {
			return m.secured(t, v, "STATIC", "127.0.0.1", object{
				"sni": "plane.e2e", "auto_sni_san_validation": true,
				"common_tls_context": object{
					"tls_params": object{"tls_maximum_protocol_version": "TLSv1_2"},
					"tls_certificates": []object{{
						"certificate_chain": object{"inline_string": textOf(t, m.cert)},
						"private_key":       object{"inline_bytes": contents(t, m.key)}, // which JSON has in base 64
					}},
					"validation_context": object{"trusted_ca": object{"inline_string": textOf(t, m.ca)}},
				},
			})
		}},
		{"a file of secrets", "per-type", "envoy.yaml", func(t *testing.T, m *mutual, v variant) object {
			const secret = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
			file := filepath.Join(t.TempDir(), "secrets.yaml")
			writeBootstrap(t, file, object{"resources": []object{{"@type": secret, "name": "me", "tls_certificate": m.own()[0]}}})
			from := object{"path_config_source": object{"path": file}}
			return m.secured(t, v, "STATIC", "127.0.0.1", object{"common_tls_context": object{
				"tls_certificate_sds_secret_configs": []object{{"name": "me", "sds_config": from}},
				"validation_context":                 object{"trusted_ca": object{"filename": m.ca}},
			}})
		}},
		{"gRPC's own client", "sotw", "envoy.yaml", func(t *testing.T, m *mutual, v variant) object {
			text := envoyBootstrap(t, v, m.node, "127.0.0.1:1")
			text["static_resources"] = object{}
			text["dynamic_resources"].(object)["ads_config"].(object)["grpc_services"] = []object{{"google_grpc": object{
				"target_uri": "localhost:" + string(port(m.Addr())), "stat_prefix": "xds",
				"channel_credentials": object{"ssl_credentials": object{
					"root_certs": object{"filename": m.ca}, "cert_chain": object{"filename": m.cert}, "private_key": object{"filename": m.key},
				}},
			}}}
			return text
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := variants() // of its own: one case changes what is in it
			v := all[slices.IndexFunc(all, func(v variant) bool { return v.name == c.variant })]
			m := startMutual(t, "wrapped", leaf)
			m.set(t, hello(t, v))
			p, e, admin := wrapEnvoy(t, c.file, c.text(t, m, v))
			if !strings.HasPrefix(p.addr, "unix:") {
				t.Errorf("it listens on %s, with the client's identity behind it", p.addr)
			}
			e.await(t, admin)
			url := e.url(t, "ingress")
			eventually(t, "the answer", func() bool {
				body, err := get(url)
				return err == nil && body == "one"
			})
			m.settle(t)
			copied := copyOf(t, p)
			p.end(t)
			if _, err := os.Stat(filepath.Dir(copied)); !os.IsNotExist(err) {
				t.Errorf("%s is left over: %v", filepath.Dir(copied), err)
			}
			compare(t, m.account, p)
		})
	}
}

// Everything is replaced in the files that the bootstrap names: authority,
// certificates, keys. Envoy, which has no TLS of its own any more, comes back
// to the new server all the same.
func TestWrapReadsRotatedFiles(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	m := &mutual{authority: xdstest.NewAuthority("old")}
	m.ca, m.cert, m.key = clientFiles(t, m.authority)
	var current atomic.Pointer[tls.Config]
	current.Store(m.serve(xdstest.Leaf{URIs: []string{planeID}}))
	m.controlPlane = startControlPlaneAs(t, "wrapped", xdstest.Options{TLS: &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return current.Load(), nil },
	}})
	m.set(t, hello(t, v))
	p, e, admin := wrapEnvoy(t, "envoy.yaml", m.secured(t, v, "STATIC", "127.0.0.1", object{"common_tls_context": object{
		"tls_certificates":   m.own(),
		"validation_context": object{"trusted_ca": object{"filename": m.ca}, "match_typed_subject_alt_names": named("URI", planeID)},
	}}))
	e.await(t, admin)
	m.rest(t, quiet)
	m.Stop()
	m.authority = xdstest.NewAuthority("new")
	current.Store(m.serve(xdstest.Leaf{URIs: []string{planeID}}))
	if err := os.WriteFile(m.ca, m.authority.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.authority.Issue(xdstest.Leaf{URIs: []string{envoyID}}).Write(filepath.Dir(m.cert), "client"); err != nil {
		t.Fatal(err)
	}
	m.startAgain(t)
	m.rest(t, quiet) // endpoints and routes come after what refers to them
	p.end(t)
	compare(t, m.account, p)
}

// stat is a counter of Envoy.
func (e *envoy) stat(t *testing.T, name string) int {
	t.Helper()
	body, err := get("http://" + e.admin + "/stats?format=json&filter=^" + strings.ReplaceAll(name, ".", `\.`) + "$")
	if err != nil {
		return 0
	}
	var all struct {
		Stats []struct{ Value json.Number }
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil || len(all.Stats) != 1 {
		return 0
	}
	n, _ := strconv.Atoi(string(all.Stats[0].Value))
	return n
}

// The proxy takes no server that Envoy would not have taken, and takes every one
// that it would have.
func TestWrapTakesWhatEnvoyTakes(t *testing.T) {
	v := variants()[0]
	other := xdstest.NewAuthority("mesh") // of the same name
	for _, c := range []struct {
		name     string
		leaf     xdstest.Leaf
		ca       *xdstest.Authority // that the client trusts; nil: the one that signed
		context  object             // of the validation
		accepted bool
	}{
		{"another SPIFFE ID", xdstest.Leaf{URIs: []string{planeID + "-2"}, DNS: []string{"localhost"}}, nil, object{"match_typed_subject_alt_names": named("URI", planeID)}, false},
		{"another authority", xdstest.Leaf{URIs: []string{planeID}}, other, object{"match_typed_subject_alt_names": named("URI", planeID)}, false},
		{"no name, and none asked for", xdstest.Leaf{}, nil, object{}, true},
		{"no root", xdstest.Leaf{}, other, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := startMutual(t, "wrapped", c.leaf)
			if c.ca != nil {
				if err := os.WriteFile(m.ca, c.ca.CertPEM(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m.set(t, hello(t, v))
			common := object{"tls_certificates": m.own()}
			if c.context != nil {
				c.context["trusted_ca"] = object{"filename": m.ca}
				common["validation_context"] = c.context
			}
			text := m.secured(t, v, "STATIC", "127.0.0.1", object{"common_tls_context": common})

			direct, admin := launchEnvoyWith(t, text)
			direct.listening(t, admin)
			eventually(t, "what Envoy alone makes of it", func() bool {
				return direct.stat(t, "cluster.xds.upstream_cx_connect_fail") > 0 || direct.stat(t, "listener_manager.lds.update_success") > 0
			})
			if got := direct.stat(t, "listener_manager.lds.update_success") > 0; got != c.accepted {
				t.Fatalf("Envoy alone accepts it: %v", got)
			}
			direct.stop(t)
			before := len(m.account.Records())

			p, e, admin := wrapEnvoy(t, "envoy.json", text)
			e.listening(t, admin)
			eventually(t, "what comes of it when wrapped", func() bool {
				return e.stat(t, "cluster.xds.upstream_cx_total") > 1 || e.stat(t, "listener_manager.lds.update_success") > 0
			})
			if got := e.stat(t, "listener_manager.lds.update_success") > 0; got != c.accepted {
				t.Errorf("wrapped, it is accepted: %v", got)
			}
			p.end(t)
			if n := len(m.account.Records()) - before; c.accepted != (n > 0) {
				t.Errorf("%d records on the account", n)
			}
		})
	}
}

// listening waits for an Envoy's admin address.
func (e *envoy) listening(t *testing.T, admin string) {
	t.Helper()
	eventually(t, "Envoy's admin address", func() bool {
		b, err := os.ReadFile(admin)
		e.admin = strings.TrimSpace(string(b))
		return err == nil && e.admin != ""
	})
}

// The gRPCs whose bootstraps know of TLS: Go, and the C core by way of Python.
// That of Node.js knows insecure only.
func TestWrapGRPCMutualTLS(t *testing.T) {
	t.Parallel()
	backend, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_SERVING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	for _, impl := range []string{"grpc-go", "grpc-core"} {
		for name, c := range map[string]struct {
			leaf     xdstest.Leaf
			accepted bool
		}{
			"the right name": {xdstest.Leaf{DNS: []string{"localhost"}}, true},
			"another name":   {xdstest.Leaf{DNS: []string{"plane.e2e"}, URIs: []string{planeID}}, false},
		} {
			t.Run(impl+"/"+name, func(t *testing.T) {
				t.Parallel()
				m := startMutual(t, "wrapped", c.leaf)
				world := emptyMesh(xdstest.Self())
				world.cluster("greeter", 1)
				world.endpointsAt(t, "greeter", backend.Addr())
				world.route("routes", "greeter")
				world.apiListener(t, service, "routes")
				m.set(t, world.world())
				text := object{
					"xds_servers": []object{{
						"server_uri": "localhost:" + string(port(m.Addr())),
						"channel_creds": []object{{"type": "of-tomorrow"}, {"type": "tls", "config": object{
							"ca_certificate_file": m.ca, "certificate_file": m.cert, "private_key_file": m.key, "refresh_interval": "1s",
						}}},
					}},
					"node": object{"id": "wrapped", "locality": object{"region": "here", "zone": "a"}},
				}
				file := filepath.Join(t.TempDir(), "bootstrap.json")
				writeBootstrap(t, file, text)
				env, words := []string{"GRPC_XDS_BOOTSTRAP=" + file}, []string(nil)
				if impl == "grpc-go" {
					self, err := os.Executable()
					if err != nil {
						t.Fatal(err)
					}
					env, words = append(env, clientVariable+"=xds:///"+service), []string{self}
				} else {
					env = append(env, "PYTHONPATH="+filepath.Dir(tool(t, "grpc-core", "grpc")))
					words = []string{"sh", "-c", "sleep 60 | exec python3 testdata/grpc-core/client.py " + service}
				}
				p, out := startWrap(t, env, words...)
				if !c.accepted {
					p.stderr.find(t, regexp.MustCompile(`localhost`), p.exited)
					if n := len(m.account.Records()); n > 0 {
						t.Errorf("%d records on the account", n)
					}
					return
				}
				if impl == "grpc-go" {
					if code := p.ended(t); code != 40+int(grpc_health_v1.HealthCheckResponse_SERVING) {
						t.Errorf("exit code %d", code)
					}
				} else {
					eventually(t, serving, func() bool { return out.last() == serving })
					m.settle(t)
					_ = p.cmd.Process.Signal(syscall.SIGTERM)
					p.ended(t)
				}
				compare(t, m.account, p)
			})
		}
	}
}

// Secrets that come from a server behind TLS; what they are for is TLS, too.
func TestWrapSecretsByTLS(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	plain := startControlPlane(t, "wrapped")
	plain.set(t, hello(t, v))
	m := startMutual(t, "wrapped", xdstest.Leaf{URIs: []string{planeID}})
	mine := m.authority.Issue(xdstest.Leaf{URIs: []string{envoyID}})
	inline := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	m.set(t, xdstest.World{Secrets: []*tlsv3.Secret{{Name: "me", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: inline(mine.CertPEM()), PrivateKey: inline(mine.KeyPEM()),
	}}}}})
	host, portOf, err := net.SplitHostPort(plain.Addr())
	if err != nil {
		t.Fatal(err)
	}
	text := m.secured(t, v, "STATIC", "127.0.0.1", object{"common_tls_context": object{
		"tls_certificates":   m.own(),
		"validation_context": object{"trusted_ca": object{"filename": m.ca}, "match_typed_subject_alt_names": named("URI", planeID)},
	}})
	sds := text["static_resources"].(object)["clusters"].([]object)[0]
	sds["name"] = "sds"
	web := xdsClusterAt("STATIC", socket("127.0.0.1", 1))
	web["name"] = "web"
	web["transport_socket"] = tlsSocket(object{"common_tls_context": object{
		"tls_certificate_sds_secret_configs": []object{{"name": "me", "sds_config": object{
			"resource_api_version": "V3",
			"api_config_source": object{
				"api_type": "GRPC", "transport_api_version": "V3", "set_node_on_first_message_only": true,
				"grpc_services": []object{{"envoy_grpc": object{"cluster_name": "sds", "skip_envoy_headers": true}}},
			},
		}}},
	}})
	text["static_resources"] = object{"clusters": []object{xdsClusterAt("STATIC", socket(host, json.Number(portOf))), sds, web}}
	p, e, admin := wrapEnvoy(t, "envoy.yaml", text)
	e.await(t, admin)
	eventually(t, "the secret", func() bool {
		return e.stat(t, "cluster.web.client_ssl_socket_factory.upstream_context_secrets_not_ready") == 0 && e.stat(t, "sds.me.update_success") == 1
	})
	m.settle(t)
	plain.settle(t)
	p.end(t)
	types := map[string]int{}
	for _, l := range p.watch(t) {
		if l.What == "ACK" {
			types[l.Type]++
		}
	}
	if types["SDS"] != 1 || types["LDS"] == 0 {
		t.Errorf("ACKs by type: %v", types)
	}
	if key := string(mine.KeyPEM()); strings.Contains(string(p.run(t, "show", p.file, "1..", "-o", "json")), strings.Split(key, "\n")[1]) {
		t.Error("the private key is in the recording")
	}
	if f := p.info(t); !f.Complete || f.Connections != 2 || f.Gaps > 0 {
		t.Errorf("%+v", f)
	}
}

// Clusters of every type, with all that goes with finding endpoints by name, are
// what Envoy takes once they have become static.
func TestWrapKeepsSecuredBootstrapsValid(t *testing.T) {
	t.Parallel()
	path := tool(t, "envoy", "envoy", "_bin", "envoy")
	m := &mutual{authority: xdstest.NewAuthority("mesh")}
	m.ca, m.cert, m.key = clientFiles(t, m.authority)
	v := variants()[0]
	text := envoyBootstrap(t, v, "valid", "127.0.0.1:1")
	secure := func(name string, cluster object, more object) object {
		cluster["name"] = name
		cluster["transport_socket"] = tlsSocket(object{"sni": name, "common_tls_context": object{
			"tls_certificates":   m.own(),
			"validation_context": object{"trusted_ca": object{"filename": m.ca}, "match_typed_subject_alt_names": named("DNS", name)},
		}})
		for k, value := range more {
			cluster[k] = value
		}
		return cluster
	}
	byName := xdsClusterAt("", socket("localhost", 443))
	delete(byName, "type")
	byPipe := xdsClusterAt("STATIC", object{"pipe": object{"path": "/run/secured.sock"}})
	clusters := []object{
		secure("strict", xdsClusterAt("STRICT_DNS", socket("localhost", 443)), object{
			"dns_lookup_family": "V4_ONLY", "respect_dns_ttl": true, "dns_refresh_rate": "5s", "dns_failure_refresh_rate": object{"base_interval": "2s", "max_interval": "10s"},
			"upstream_connection_options": object{"tcp_keepalive": object{"keepalive_time": 60}},
		}),
		secure("logical", xdsClusterAt("LOGICAL_DNS", socket("localhost", 443)), object{
			"typed_dns_resolver_config": object{"name": "envoy.network.dns_resolver.cares", "typed_config": object{
				"@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
			}},
		}),
		secure("custom", byName, object{"cluster_type": object{"name": "envoy.clusters.dns", "typed_config": object{
			"@type": "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster", "dns_lookup_family": "ALL",
		}}}),
		secure("pipe", byPipe, nil),
		secure("static", xdsClusterAt("STATIC", socket("127.0.0.1", 443)), object{"health_checks": []object{{
			"timeout": "1s", "interval": "1s", "unhealthy_threshold": 1, "healthy_threshold": 1, "grpc_health_check": object{},
		}}}),
	}
	var services []object
	for _, c := range clusters {
		services = append(services, object{"api_config_source": object{
			"api_type": "GRPC", "transport_api_version": "V3", "grpc_services": []object{{"envoy_grpc": object{"cluster_name": c["name"]}}},
		}})
	}
	text["static_resources"] = object{"clusters": append(clusters, xdsClusterAt("STATIC", socket("127.0.0.1", 1)))}
	text["dynamic_resources"].(object)["lds_config"] = services[0]
	text["dynamic_resources"].(object)["cds_config"] = services[1]
	var layers []object
	for i, s := range services[2:] {
		layers = append(layers, object{"name": strconv.Itoa(i), "rtds_layer": object{"name": "r" + strconv.Itoa(i), "rtds_config": s}})
	}
	text["layered_runtime"] = object{"layers": layers}
	for _, name := range []string{"envoy.yaml", "envoy.json"} {
		file := filepath.Join(t.TempDir(), name)
		writeBootstrap(t, file, text)
		if out, err := exec.Command(path, "--mode", "validate", "-c", file, "--log-level", "error").CombinedOutput(); err != nil {
			t.Fatalf("Envoy alone does not take it: %v\n%s", err, out)
		}
		cmd := exec.Command(program(t), "wrap", "--no-record", path, "--mode", "validate", "-c", file, "--log-level", "error")
		cmd.Env = quietEnv(t)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), name+"' OK\n") || strings.Contains(string(out), file+"' OK") {
			t.Errorf("%v; Envoy says %s", err, out)
		}
		if n := strings.Count(string(out), "listening on unix:"); n != len(clusters) || strings.Contains(string(out), "cannot wrap") {
			t.Errorf("%d of %d clusters are wrapped: %s", n, len(clusters), out)
		}
	}
}
