package configdump

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
)

// itself compares a resource with itself, as if it had been sent so.
func itself(r *Resource) (same bool, why string) {
	was, is, why := Plain(&decode.Resource{Name: r.Name, TypeURL: r.TypeURL, Body: r.Body}, r)
	return why == "" && diff.Compare(&was.Root, &is.Root, diff.Options{}).Same(), why
}

// What Envoy makes of endpoints is what was sent, and a change is one.
func TestPlainEndpoints(t *testing.T) {
	const url = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	const dumped = `{"cluster_name":"web","policy":{"overprovisioning_factor":140},"endpoints":[
		{"locality":{"zone":"a"},"lb_endpoints":[
			{"endpoint":{"address":{"socket_address":{"address":"::1","port_value":1}},"health_check_config":{}},"health_status":"UNHEALTHY","load_balancing_weight":1},
			{"endpoint":{"address":{"socket_address":{"address":"10.0.0.1","port_value":1}},"health_check_config":{}},"health_status":"UNHEALTHY","load_balancing_weight":3}]},
		{"locality":{"zone":"b"},"priority":1,"lb_endpoints":[
			{"endpoint":{"address":{"pipe":{"path":"/x"}},"health_check_config":{}},"health_status":"HEALTHY","load_balancing_weight":1,"metadata":{"filter_metadata":{"a":{"b":"c"}}}}]}]}`
	const sent = `{"cluster_name":"web","policy":{"drop_overloads":[{"category":"x"}]},"endpoints":[
		{"locality":{"zone":"b"},"priority":1,"load_balancing_weight":5,"lb_endpoints":[{"endpoint":{"address":{"pipe":{"path":"/x"}}},"metadata":{"filter_metadata":{"a":{"b":"c"}}}}]},
		{"locality":{"zone":"c"}},
		{"locality":{"zone":"d"},"lb_endpoints":[{"endpoint":{"address":{"pipe":{"path":"/x"}}}}]},
		{"locality":{"zone":"a"},"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"10.0.0.1","port_value":1}}},"health_status":"DRAINING","load_balancing_weight":3},
			{"endpoint":{"address":{"socket_address":{"address":"10.0.0.1","port_value":1}}},"load_balancing_weight":8}]},
		{"locality":{"zone":"a"},"proximity":3,"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"0:0::1","port_value":1,"protocol":"TCP"}}}}]}]}`
	for name, c := range map[string]struct {
		from, to string
		same     bool
	}{
		"as sent":       {"", "", true},
		"weight":        {`"load_balancing_weight":3`, `"load_balancing_weight":4`, false},
		"port":          {`"10.0.0.1","port_value":1`, `"10.0.0.1","port_value":2`, false},
		"priority":      {`"priority":1`, `"priority":2`, false},
		"metadata":      {`{"b":"c"}`, `{"b":"d"}`, false},
		"healthier":     {`"health_status":"UNHEALTHY","load_balancing_weight":3`, `"health_status":"HEALTHY","load_balancing_weight":3`, false},
		"found healthy": {`"health_status":"UNHEALTHY","load_balancing_weight":1`, `"health_status":"HEALTHY","load_balancing_weight":1`, true},
	} {
		held := &Resource{Type: "EDS", TypeURL: url, Body: body(t, url, replaceOnce(t, dumped, c.from, c.to))}
		was, is, why := Plain(&decode.Resource{TypeURL: url, Body: body(t, url, sent)}, held)
		if r := diff.Compare(&was.Root, &is.Root, diff.Options{}); why != "" || r.Same() != c.same {
			t.Errorf("%s: %q, same is %t:\n%s%s", name, why, r.Same(), was.JSON(), is.JSON())
		}
	}
}

// A TypedStruct is dumped as the message that it stands for would be written, and
// what the API calls sensitive is not compared.
func TestPlainRedacts(t *testing.T) {
	const url = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	const sent = `{"name":"web","transport_socket":{"name":"tls","typed_config":{"@type":"type.googleapis.com/xds.type.v3.TypedStruct",
		"type_url":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","value":{"sni":"a","allowRenegotiation":false,
		"commonTlsContext":{"tlsCertificates":[{"privateKey":{"inlineString":"[masked:1]"}}]}}}}}`
	const dumped = `{"name":"web","transport_socket":{"name":"tls","typed_config":{"@type":"type.googleapis.com/xds.type.v3.TypedStruct",
		"type_url":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","value":{"sni":"a",
		"common_tls_context":{"tls_certificates":[{"private_key":{"inline_string":"[redacted]"}}]}}}}}`
	for dump, same := range map[string]bool{dumped: true, replaceOnce(t, dumped, `"sni":"a"`, `"sni":"b"`): false} {
		held := &Resource{Type: "CDS", TypeURL: url, Body: body(t, url, dump)}
		was, is, why := Plain(&decode.Resource{TypeURL: url, Body: body(t, url, sent)}, held)
		if r := diff.Compare(&was.Root, &is.Root, diff.Options{}); why != "" || r.Same() != same {
			t.Errorf("%q, same is %t:\n%s%s", why, r.Same(), was.JSON(), is.JSON())
		}
	}
}

// The configuration of an extension is dumped without the TypedStruct around it.
func TestPlainExtension(t *testing.T) {
	const url = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"
	const limit = `"@type":"type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit"`
	const sent = `{"name":"one","typed_config":{"@type":"type.googleapis.com/udpa.type.v1.TypedStruct",
		"type_url":"type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
		"value":{"stat_prefix":"rl","token_bucket":{"fill_interval":"1s","max_tokens":100}}}}`
	for tokens, same := range map[string]bool{"100": true, "101": false} {
		dumped := `{"name":"one","typed_config":{` + limit + `,"stat_prefix":"rl","token_bucket":{"fill_interval":"1s","max_tokens":` + tokens + `}}}`
		held := &Resource{Type: "ECDS", TypeURL: url, Body: body(t, url, dumped)}
		was, is, why := Plain(&decode.Resource{TypeURL: url, Body: body(t, url, sent)}, held)
		if r := diff.Compare(&was.Root, &is.Root, diff.Options{}); why != "" || r.Same() != same {
			t.Errorf("%q, same is %t:\n%s%s", why, r.Same(), was.JSON(), is.JSON())
		}
	}
}

func body(t *testing.T, url, text string) []byte {
	t.Helper()
	m := messageOf(url).Interface()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	out, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func replaceOnce(t *testing.T, s, from, to string) string {
	t.Helper()
	if strings.Count(s, from) != 1 && from != "" {
		t.Fatalf("%q is not in it once", from)
	}
	return strings.Replace(s, from, to, 1)
}
