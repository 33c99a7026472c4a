package bootstrap

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// repeat writes a text for each number.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

const secureCluster = `
static_resources:
  clusters:
  - name: xds
    type: STRICT_DNS
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        auto_host_sni: true
        common_tls_context: {%s}
    load_assignment:
      endpoints:
      - lb_endpoints:
%s
dynamic_resources: {ads_config: {grpc_services: [{envoy_grpc: {cluster_name: xds}}]}}
`

const endpoint = "        - endpoint: {address: {socket_address: {address: h%d, port_value: 1}}}\n"

// What is small as a text must not take long or much: a document of some
// megabytes for which each of these took minutes or gigabytes.
func TestCostly(t *testing.T) {
	const server = `{"server_uri":"h%d:1","channel_creds":[{"type":"insecure"}]},`
	const many = "it names more than 1000 xDS servers"
	listed := func(n int, format string) string { return strings.TrimSuffix(repeat(n, format), ",") }
	servers := map[string]int{"uses": 1, "uses below a long name": 1, "an expression": 1, "names for each endpoint": 900}
	inline := "validation_context: {trusted_ca: {inline_string: x}}"
	for name, c := range map[string]struct{ file, text, want string }{
		"directives":         {"x.yaml", repeat(20_000, "%%TAG !h%d! x\n") + "---\na: 1", "more directives than can be read"},
		"directives, UTF-16": {"x.yaml", "\xff\xfe" + wide(repeat(20_000, "%%TAG !h%d! x\n")+"---\na: 1"), "more directives than can be read"},
		"endpoints":          {"x.yaml", fmt.Sprintf(secureCluster, inline, repeat(10_000, endpoint)), many},
		"servers of gRPC":    {"x.json", `{"xds_servers":[` + listed(10_000, server) + `]}`, many},
		"authorities":        {"x.json", `{"authorities":{` + listed(10_000, `"a%d":{"xds_servers":[{"server_uri":"h%[1]d:1"}]},`) + `}}`, many},
		"targets":            {"x.json", `{"dynamic_resources":{"ads_config":{"grpc_services":[` + repeat(10_000, `{"google_grpc":{"target_uri":"h%d:1"}},`) + `]}}}`, many},
		"clusters":           {"x.json", `{"dynamic_resources":{"ads_config":{"cluster_names":[` + repeat(20_000, `"c%d",`) + `]}}}`, many},
		"uses":               {"x.json", `{"dynamic_resources":{"x":[` + repeat(20_000, `{"ads_config":{"cluster_names":"xds","n":%d}},`) + `]}}`, ""},
		"a long name":        {"x.json", `{"dynamic_resources":{},"` + strings.Repeat("x", 1<<20) + `":{` + repeat(20_000, `"k%d":1,`) + `}}`, ""},
		"uses below a long name": {"x.json", `{"dynamic_resources":{},"` + strings.Repeat("x", 1<<20) + `":[` +
			repeat(10_000, `{"ads_config":{"cluster_names":"xds","n":%d}},`) + `]}`, ""},
		"an expression": {"x.yaml", fmt.Sprintf(secureCluster, "validation_context: {trusted_ca: {inline_string: x}, "+
			"match_typed_subject_alt_names: [{san_type: DNS, matcher: {safe_regex: {regex: "+strings.Repeat("x", 4<<20)+"}}}]}", repeat(1, endpoint)), ""},
		"names for each endpoint": {"x.yaml", fmt.Sprintf(secureCluster, "validation_context: {trusted_ca: {inline_string: x}, "+
			"match_typed_subject_alt_names: ["+repeat(5_000, "{san_type: DNS, matcher: {exact: n%d}},")+"]}", repeat(900, endpoint)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			grown := allocated(func() {
				d, err := Parse(c.file, []byte(c.text), nil)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("error is %v, want %q", err, c.want)
				}
				if err == nil {
					if len(d.Servers) != servers[name] {
						t.Errorf("%d servers, want %d", len(d.Servers), servers[name])
					}
					for _, s := range d.Servers {
						if s.Obstacle != nil && len(s.Obstacle.Why) > 1000 || len(s.Uses) > 1000 {
							t.Errorf("an obstacle of %d bytes, %d uses", len(s.Obstacle.Why), len(s.Uses))
						}
					}
				}
			})
			if grown > 1<<30 {
				t.Errorf("it allocated %d MiB", grown>>20)
			}
		})
	}
}

// wide is a text of plain characters in UTF-16.
func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(s[i:i+1] + "\x00")
	}
	return b.String()
}

// allocated is how many bytes were asked for, which time follows.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A file of secrets is read once, however many endpoints want it, and all of
// them together are bounded.
func TestSecretFiles(t *testing.T) {
	secret := "validation_context_sds_secret_config: {name: s, sds_config: {path_config_source: {path: %s}}}"
	file := []byte("resources: [{\"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret, name: s, validation_context: {trusted_ca: {inline_string: x}}}]\n")
	reads := 0
	d, err := Parse("x.yaml", fmt.Appendf(nil, secureCluster, fmt.Sprintf(secret, "/s.yaml"), repeat(900, endpoint)), func(string) ([]byte, error) {
		reads++
		return file, nil
	})
	if err != nil || reads != 1 || len(d.Servers) != 900 || d.Servers[899].Obstacle != nil || d.Servers[899].TLS.ServerName != "h899" || d.Servers[0].TLS.CA.Inline != "x" {
		t.Errorf("%d reads, %v", reads, err)
	}

	large := append(file, strings.Repeat("#", MaxSize/4)...)
	reads = 0
	clusters, targets := "static_resources:\n  clusters:\n", ""
	for i := range 40 {
		clusters += fmt.Sprintf("  - {name: c%d, transport_socket: {typed_config: {\"@type\": x.tls.v3.UpstreamTlsContext, common_tls_context: {%s}}}, load_assignment: {endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: h%d, port_value: 1}}}}]}]}}\n", i, fmt.Sprintf(secret, fmt.Sprintf("/%d.yaml", i)), i)
		targets += fmt.Sprintf("{envoy_grpc: {cluster_name: c%d}},", i)
	}
	d, err = Parse("x.yaml", []byte(clusters+"dynamic_resources: {ads_config: {grpc_services: ["+targets+"]}}\n"), func(string) ([]byte, error) {
		reads++
		return large, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	last := d.Servers[len(d.Servers)-1]
	if reads != 4 || len(d.Servers) != 40 || d.Servers[0].Obstacle != nil || last.Obstacle == nil || !strings.Contains(last.Obstacle.Why, "more than 16 MiB of files") {
		t.Errorf("%d reads, the last server is %+v", reads, last)
	}
}

// An address that nobody can dial is in the way of its own server only.
func TestAddressesThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"x.yaml": fmt.Sprintf(secureCluster, "", `        - endpoint: {address: {socket_address: {address: "a\e[2J", port_value: 1}}}`),
		"x.json": `{"xds_servers":[{"server_uri":"a\u001b[2J:1","channel_creds":[{"type":"insecure"}]},{"server_uri":"h:1","channel_creds":[{"type":"insecure"}]}]}`,
	} {
		d, err := Parse(name, []byte(text), nil)
		if err != nil || len(d.Servers) == 0 || d.Servers[0].Obstacle == nil || !strings.HasPrefix(d.Servers[0].Obstacle.Why, "it is no host") || len(d.Servers) > 1 && d.Servers[1].Obstacle != nil {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
}
