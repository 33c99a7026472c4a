package bootstrap

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// contextOf reads a bootstrap with one cluster whose TLS context has a
// validation context in YAML's flow style, and other fields beside it.
func contextOf(t *testing.T, validation, beside string) *Server {
	t.Helper()
	text := fmt.Sprintf(`
dynamic_resources: {ads_config: {grpc_services: [{envoy_grpc: {cluster_name: x}}]}}
static_resources:
  clusters:
  - name: x
    type: STRICT_DNS
    transport_socket:
      name: tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        common_tls_context:
          validation_context: {%s}
          %s
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: host.example, port_value: 1}}}}]}]}
`, validation, beside)
	d, err := Parse("x.yaml", []byte(text), readFile)
	if err != nil || len(d.Servers) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	return d.Servers[0]
}

// What Envoy would take is taken, and nothing else.
func TestAccepts(t *testing.T) {
	authority := xdstest.NewAuthority("root")
	leaf := authority.Issue(xdstest.Leaf{
		DNS: []string{"xds.example", "*.wild.example"}, URIs: []string{"spiffe://mesh/ns/a/sa/b"}, IPs: []string{"10.0.0.1", "fd00::1"},
	}).Cert
	nameless := authority.Issue(xdstest.Leaf{CommonName: "xds.example"}).Cert
	hash := sha256.Sum256(leaf.Raw)
	colons := strings.ToUpper(hex.EncodeToString(hash[:]))
	for i := len(colons) - 2; i > 0; i -= 2 {
		colons = colons[:i] + ":" + colons[i:]
	}
	key := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	other := base64.StdEncoding.EncodeToString(make([]byte, 32))
	typed := func(kind, matcher string) string {
		return fmt.Sprintf("match_typed_subject_alt_names: [{san_type: %s, matcher: {%s}}]", kind, matcher)
	}
	for _, c := range []struct {
		context  string
		accepted bool
	}{
		{"", true},
		{typed("URI", `exact: "spiffe://mesh/ns/a/sa/b"`), true},
		{typed("URI", `exact: "spiffe://mesh/ns/a/sa/c"`), false},
		{typed("URI", `exact: "spiffe://mesh/ns/a/sa/B"`), false},
		{typed("URI", `exact: "spiffe://mesh/ns/a/sa/B", ignore_case: true`), true},
		{typed("URI", `prefix: "spiffe://mesh/ns/a/"`), true},
		{typed("URI", `prefix: "spiffe://mesh/ns/b/"`), false},
		{typed("URI", `safe_regex: {regex: "spiffe://mesh/ns/[a-c]/.*"}`), true},
		{typed("URI", `safe_regex: {regex: "mesh"}`), false}, // all of it has to match
		{typed("URI", `safe_regex: {regex: "x|mesh.*"}`), false},
		{typed("URI", `contains: "/sa/"`), true},
		{typed("URI", `exact: xds.example`), false}, // which is none of these
		{typed("DNS", `exact: xds.example`), true},
		{typed("DNS", `exact: XDS.example`), true},
		{typed("DNS", `exact: a.wild.example`), true},
		{typed("DNS", `exact: b.a.wild.example`), false},
		{typed("DNS", `exact: wild.example`), false},
		{typed("DNS", `exact: .wild.example`), false},
		{typed("DNS", `exact: xn--a.wild.example`), false},
		{typed("DNS", `suffix: .wild.example`), true}, // as a text
		{typed("DNS", `exact: ""`), false},
		{typed("2", `exact: other.example`), false},
		{typed("IP_ADDRESS", `exact: 10.0.0.1`), true},
		{typed("IP_ADDRESS", `exact: "fd00::1"`), true},
		{typed("IP_ADDRESS", `exact: 10.0.0.2`), false},
		{typed("EMAIL", `exact: xds.example`), false},
		{"match_subject_alt_names: [{exact: other.example}, {exact: xds.example}]", true},
		{"match_subject_alt_names: [{exact: other.example}]", false},
		{"verify_certificate_hash: [" + colons + "]", true},
		{"verify_certificate_hash: [" + hex.EncodeToString(key[:]) + "]", false},
		{"verify_certificate_spki: [" + other + ", " + base64.StdEncoding.EncodeToString(key[:]) + "]", true},
		{"verify_certificate_spki: [" + base64.StdEncoding.EncodeToString(hash[:]) + "]", false},
		{"verify_certificate_spki: [" + other + "], " + typed("DNS", "exact: xds.example"), false}, // both count
	} {
		s := contextOf(t, "trusted_ca: {filename: ca.pem}, "+c.context, "")
		if s.TLS == nil {
			t.Errorf("%s: %v", c.context, s.Obstacle)
			continue
		}
		if err := s.TLS.Accepts(leaf); (err == nil) != c.accepted {
			t.Errorf("%s: %v", c.context, err)
		}
		if err := s.TLS.Accepts(nameless); (err == nil) != (c.context == "") {
			t.Errorf("%s of a certificate without names: %v", c.context, err)
		}
	}
	err := contextOf(t, "trusted_ca: {filename: ca.pem}, "+typed("URI", `exact: "spiffe://mesh/other"`), "").TLS.Accepts(leaf)
	if want := "it is for spiffe://mesh/ns/a/sa/b, xds.example, *.wild.example, 10.0.0.1, fd00::1; the client wants spiffe://mesh/other"; err == nil || err.Error() != want {
		t.Errorf("it says %v", err)
	}
	if err := (&TLS{Host: "a.wild.example"}).Accepts(leaf); err != nil {
		t.Error(err)
	}
	if err := (&TLS{Host: "other.example"}).Accepts(leaf); err == nil {
		t.Error("a name that it is not for is accepted")
	}
}

// What cannot be spoken for is left to the client.
func TestContextsThatAreNotTakenOver(t *testing.T) {
	const ca = "trusted_ca: {filename: ca.pem}, "
	for _, c := range []struct{ validation, beside, want string }{
		{ca + "crl: {filename: c}", "", "its TLS context has crl, which xdsproxy does not take over"},
		{ca + "customValidatorConfig: {name: envoy.tls.cert_validator.spiffe}", "", "has custom_validator_config"},
		{ca + "max_verify_depth: 1", "", "has max_verify_depth"},
		{ca + "allow_expired_certificate: true", "", "takes expired certificates"},
		{ca + "trust_chain_verification: ACCEPT_UNTRUSTED", "", "trust_chain_verification is ACCEPT_UNTRUSTED"},
		{ca + "verify_certificate_hash: [abc]", "", `has "abc", which is no SHA-256 in hexadecimal`},
		{ca + "verify_certificate_spki: [abc]", "", `has "abc", which is no SHA-256 in base 64`},
		{ca + "match_typed_subject_alt_names: [{san_type: OTHER_NAME, oid: 1.2.3, matcher: {exact: a}}]", "", `names of type "OTHER_NAME"`},
		{ca + "match_typed_subject_alt_names: [{matcher: {exact: a}}]", "", `names of type ""`},
		{ca + "match_typed_subject_alt_names: [{san_type: DNS}]", "", "it matches names by nothing"},
		{ca + "match_typed_subject_alt_names: [{san_type: DNS, matcher: {prefix: ''}}]", "", "it matches names by nothing"},
		{ca + "match_typed_subject_alt_names: [{san_type: DNS, matcher: {custom: {name: a}}}]", "", "has custom"},
		{ca + "match_typed_subject_alt_names: [{san_type: DNS, matcher: {safe_regex: {regex: '('}}}]", "", "is no regular expression here"},
		{"match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: a}}]", "", "but at no root (trusted_ca), which Envoy refuses"},
		{"trusted_ca: {}", "", "its trusted_ca is empty"},
		{"trusted_ca: {filename: a, inline_string: b}", "", "its trusted_ca is given twice"},
		{"trusted_ca: {inline_bytes: '%'}", "", "inline_bytes that are not in base 64"},
		{"trusted_ca: ca.pem", "", "its trusted_ca is no message"},
		{ca, "custom_handshaker: {name: a}", "has custom_handshaker"},
		{ca, "alpn_protocols: [istio]", `the protocol "istio" by ALPN`},
		{ca, "tls_certificates: [{certificate_chain: {filename: a}}]", "there is only one"},
		{ca, "tls_certificates: [{certificate_chain: {filename: a}, private_key: {filename: b}, password: {filename: c}}]", "has password"},
		{ca, "tls_certificates: [{pkcs12: {filename: a}}]", "has pkcs12"},
		{ca, "tls_certificates: [{certificate_chain: {filename: a}, private_key_provider: {provider_name: q}}]", "has private_key_provider"},
		{ca, "tls_certificates: [{certificate_chain: {filename: a}, private_key: {filename: b}}, {certificate_chain: {filename: a}, private_key: {filename: b}}]", "2 certificates to choose from"},
		{ca, "tls_params: {tls_maximum_protocol_version: TLSv1_1}", "it speaks no TLS from 1.2 on"},
		{ca, "tls_params: {tls_maximum_protocol_version: SSLv3}", `tls_maximum_protocol_version is "SSLv3"`},
		{ca, "tls_certificate_sds_secret_configs: [{name: other, sds_config: {path_config_source: {path: sds/secrets.yaml}}}]", `has no secret "other" with one`},
		{ca, "tls_certificate_sds_secret_configs: [{name: roots, sds_config: {path_config_source: {path: sds/secrets.yaml}}}]", `has no secret "roots" with one`},
		{ca, "tls_certificate_sds_secret_configs: [{name: client, sds_config: {path_config_source: {path: sds/absent.yaml}}}]", "from a file that cannot be read"},
		{ca, "tls_certificate_sds_secret_configs: [{name: client, sds_config: {ads: {}}}]", "comes by SDS from a server (client)"},
		{ca, "tls_certificate_sds_secret_configs: [{name: client}]", `the static secret "client", which the bootstrap does not have`},
	} {
		s := contextOf(t, strings.TrimSuffix(c.validation, ", "), c.beside)
		if s.Obstacle == nil || !strings.Contains(s.Obstacle.Why, c.want) || s.TLS != nil {
			t.Errorf("%s %s: %+v", c.validation, c.beside, s.Obstacle)
		}
	}
}

// A client of Google's gRPC shows a certificate with its key, or none.
func TestGoogleCertificates(t *testing.T) {
	for credentials, want := range map[string]string{
		"": "", "root_certs: {filename: ca.pem}": "", "cert_chain: {filename: a}, private_key: {filename: b}": "",
		"cert_chain: {filename: a}": "there is only one", "private_key: {filename: b}": "there is only one",
	} {
		text := "dynamic_resources: {ads_config: {grpc_services: [{google_grpc: {target_uri: 'h:1', channel_credentials: {ssl_credentials: {" + credentials + "}}}}]}}"
		d, err := Parse("x.yaml", []byte(text), readFile)
		if err != nil || len(d.Servers) != 1 {
			t.Fatalf("%s: %v", credentials, err)
		}
		s := d.Servers[0]
		if (s.Obstacle == nil) != (want == "") || s.Obstacle != nil && !strings.Contains(s.Obstacle.Why, want) || (s.TLS != nil) != (want == "") {
			t.Errorf("%s: %+v, %+v", credentials, s.TLS, s.Obstacle)
		}
	}
}

// The name that SNI asks for is that of the endpoint, else the one that is
// resolved.
func TestHostsOfEndpoints(t *testing.T) {
	for _, c := range []struct{ kind, endpoint, want string }{
		{"STATIC", "", ""}, {"STRICT_DNS", "", "a.example"}, {"STATIC", ", hostname: own.example", "own.example"}, {"STRICT_DNS", ", hostname: own.example", "own.example"},
	} {
		text := `
dynamic_resources: {ads_config: {grpc_services: [{envoy_grpc: {cluster_name: x}}]}}
static_resources:
  clusters:
  - name: x
    type: ` + c.kind + `
    transport_socket: {name: tls, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, auto_host_sni: true}}
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: a.example, port_value: 1}}` + c.endpoint + `}}]}]}
`
		d, err := Parse("x.yaml", []byte(text), readFile)
		if err != nil || len(d.Servers) != 1 {
			t.Fatalf("%+v: %v", c, err)
		}
		s := d.Servers[0]
		if s.TLS == nil || s.TLS.ServerName != c.want {
			t.Errorf("%+v: %+v, %+v", c, s.TLS, s.Obstacle)
		}
	}
}

// The context is the cluster's: all of its endpoints are wrapped, or none, lest
// one be spoken to in plaintext.
func TestAllEndpointsOrNone(t *testing.T) {
	for _, other := range []string{
		"{endpoint: {address: {socket_address: {address: b, port_value: 1, protocol: UDP}}}}",
		"{endpoint: {address: {socket_address: {address: b, port_value: 1}}, additional_addresses: [{address: {socket_address: {address: c, port_value: 1}}}]}}",
		"{endpoint: {address: {socket_address: {address: b, port_value: 1}}, health_check_config: {port_value: 2}}}",
	} {
		text := `
dynamic_resources: {ads_config: {grpc_services: [{envoy_grpc: {cluster_name: x}}]}}
static_resources:
  clusters:
  - name: x
    transport_socket: {name: tls, typed_config: {"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext}}
    load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: a, port_value: 1}}}}, ` + other + `]}]}
`
		d, err := Parse("x.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Servers) < 2 {
			t.Errorf("%d servers with %s", len(d.Servers), other)
		}
		for _, s := range d.Servers {
			if s.Obstacle == nil || s.TLS != nil {
				t.Errorf("%s is wrapped beside %s", s.Address, other)
			}
		}
	}
}

// A name of a certificate stands for a host, or for one label before a domain.
func TestSameHost(t *testing.T) {
	for _, c := range []struct {
		host, name string
		want       bool
	}{
		{"a.b", "A.b", true},
		{"", "", false},
		{"x.a.b", "*.a.b", true},
		{"y.x.a.b", "*.a.b", false},
		{".a.b", "*.a.b", false},
		{"a.b", "*.a.b", false},
		{"xn--x.a.b", "*.a.b", false},
		{"xa.b", "x*.b", false},
		{"a", "*.", false},
		{"a.", "*.", true},
		{"x.a.b", "x.a.c", false},
	} {
		if got := sameHost(c.host, c.name); got != c.want {
			t.Errorf("%q and %q: %t", c.host, c.name, got)
		}
	}
}

// An expression has to match all of a name, and is not longer than one that is worth
// compiling.
func TestWholly(t *testing.T) {
	for _, c := range []struct {
		expression, name string
		want             bool
	}{{"a|b", "b", true}, {"a|b", "ab", false}, {"a.c", "abc", true}, {"a", "a\n", false}, {"a)(b", "ab", false}, {strings.Repeat("a", maxExpression), strings.Repeat("a", maxExpression), true}, {strings.Repeat("a", maxExpression+1), strings.Repeat("a", maxExpression+1), false}} {
		re, err := wholly(c.expression)
		if got := err == nil && re.MatchString(c.name); got != c.want {
			t.Errorf("%.20s and %.20q: %t, %v", c.expression, c.name, got, err)
		}
	}
}

// What is written again says the same, or that is refused.
func TestDiffer(t *testing.T) {
	tree := func(text string) *yaml.Node {
		n, _, err := parseTree("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a: 1", "a: 1", true},
		{"a: 1", "a: 2", false},
		{"a: 1", "a: '1'", false},
		{"a: 'b'", "a: b", true},
		{"a: [1]", "a: [1, 2]", false},
		{"a: [1]", "a: {b: 1}", false},
		{"a: {b: 1}", "a: {c: 1}", false},
		{"a: true", "a: 'true'", false},
		{"a: 1", "b: 1", false},
	} {
		if err := differ(tree(c.a), tree(c.b)); (err == nil) != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"!!int", "!!float", true}, {"!!int", "!!int", true}, {"!!str", "!!int", false}, {"!!float", "!!str", false}, {"!!str", "!!str", true}, {"!!null", "!!bool", false}} {
		if alike(c.a, c.b) != c.want {
			t.Errorf("%s and %s are alike: %t", c.a, c.b, !c.want)
		}
	}
}
