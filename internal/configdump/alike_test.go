package configdump

import (
	"cmp"
	"encoding/base64"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
)

// TestAlike: what was sent is what Envoy holds, whatever one of the two masks or
// cannot read, and a change is none of that.
func TestAlike(t *testing.T) {
	const (
		cluster = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
		secret  = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
		routes  = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
		eds     = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
		socket  = `"transport_socket":{"name":"t","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","sni":"s","common_tls_context":{"tls_certificates":[{"private_key":{"inline_string":"`
		end     = `"},"password":{"inline_bytes":"eA=="}}]}}}`
	)
	masked := base64.StdEncoding.EncodeToString([]byte("[masked:abc]"))
	unknown := string([]byte{0xf8, 0x7f, 1}) // a field that the API does not have
	for name, c := range map[string]struct {
		typ, url, sent, held string
		more                 string // of what was sent, behind it
		unread               []string
		want                 string
	}{
		"the same":             {typ: "CDS", url: cluster, sent: `{"name":"a"}`, held: `{"name":"a"}`, want: "same"},
		"another":              {typ: "CDS", url: cluster, sent: `{"name":"a"}`, held: `{"name":"b"}`, want: "changed"},
		"a secret inside":      {typ: "CDS", url: cluster, sent: `{"name":"a",` + socket + `one` + end + `}`, held: `{"name":"a",` + socket + `[redacted]` + end + `}`, want: "same"},
		"beside the secret":    {typ: "CDS", url: cluster, sent: `{"name":"a",` + socket + `one` + end + `}`, held: `{"name":"b",` + socket + `[redacted]` + end + `}`, want: "changed"},
		"masked text":          {typ: "CDS", url: cluster, sent: `{"name":"a","alt_stat_name":"of [masked:x]"}`, held: `{"name":"a","alt_stat_name":"y"}`, want: "same"},
		"masked metadata":      {typ: "CDS", url: cluster, sent: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["[masked:x]","b"]}}}}`, held: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["y","b"]}}}}`, want: "same"},
		"beside the mask":      {typ: "CDS", url: cluster, sent: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["[masked:x]","b"]}}}}`, held: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["y","c"]}}}}`, want: "changed"},
		"a list of more":       {typ: "CDS", url: cluster, sent: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["[masked:x]"]}}}}`, held: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":["y","c"]}}}}`, want: "changed"},
		"another kind":         {typ: "CDS", url: cluster, sent: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":"[masked:x]"}}}}`, held: `{"name":"a","metadata":{"filter_metadata":{"m":{"k":5}}}}`, want: "changed"},
		"a file of a secret":   {typ: "SDS", url: secret, sent: `{"name":"a","tls_certificate":{"certificate_chain":{"filename":"/x"}}}`, held: `{"name":"a","tls_certificate":{"certificate_chain":{"inline_string":"pem"}}}`, want: "same"},
		"a secret by variable": {typ: "SDS", url: secret, sent: `{"name":"a","tls_certificate":{"certificate_chain":{"environment_variable":"X"}}}`, held: `{"name":"a","tls_certificate":{"certificate_chain":{"inline_string":"pem"}}}`, want: "same"},
		"a file of a cluster":  {typ: "CDS", url: cluster, sent: `{"name":"a","transport_socket":{"name":"t","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","common_tls_context":{"tls_certificates":[{"certificate_chain":{"filename":"/x"}}]}}}}`, held: `{"name":"a","transport_socket":{"name":"t","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","common_tls_context":{"tls_certificates":[{"certificate_chain":{"inline_string":"pem"}}]}}}}`, want: "changed"},
		"masked bytes":         {typ: "SDS", url: secret, sent: `{"name":"a","generic_secret":{"secret":{"inline_bytes":"` + masked + `"}}}`, held: `{"name":"a","generic_secret":{"secret":{"inline_bytes":"W3JlZGFjdGVkXQ=="}}}`, want: "same"},
		"of REST":              {typ: "CDS", url: "", sent: "", held: `{"name":"a"}`, more: `{"@type":"` + cluster + `","name":"a"}`, want: "same"},
		"of REST, broken":      {typ: "CDS", url: "", sent: "", held: `{"name":"a"}`, more: `{"@type":"x"}`, want: `the member "@type" is not a type`},
		"hosts on demand":      {typ: "RDS", url: routes, sent: `{"name":"r","vhds":{"config_source":{"ads":{}}},"virtual_hosts":[{"name":"a","domains":["a"]}]}`, held: `{"name":"r","vhds":{"config_source":{"ads":{}}},"virtual_hosts":[{"name":"b","domains":["b"]}]}`, want: "same"},
		"hosts":                {typ: "RDS", url: routes, sent: `{"name":"r","virtual_hosts":[{"name":"a","domains":["a"]}]}`, held: `{"name":"r","virtual_hosts":[{"name":"b","domains":["b"]}]}`, want: "changed"},
		"endpoints by LEDS":    {typ: "EDS", url: eds, sent: `{"cluster_name":"a","endpoints":[{"leds_cluster_locality_config":{"leds_collection_name":"x"}}]}`, held: `{"cluster_name":"a"}`, want: "its endpoints come by LEDS, which is not followed"},
		"an unknown field":     {typ: "CDS", url: cluster, sent: `{"name":"a"}`, held: `{"name":"a"}`, more: unknown, want: "changed"},
		"one that is not read": {typ: "CDS", url: cluster, sent: `{"name":"a"}`, held: `{"name":"a"}`, more: unknown, unread: []string{"there is no field x"}, want: "there is no field x"},
		"and more than that":   {typ: "CDS", url: cluster, sent: `{"name":"a"}`, held: `{"name":"b"}`, more: unknown, unread: []string{"there is no field x"}, want: "changed"},
		"no content":           {typ: "CDS", url: cluster, sent: `{"name":"a"}`, want: "Envoy did not dump its content"},
		"no content, and why":  {typ: "CDS", url: cluster, sent: `{"name":"a"}`, unread: []string{"it is redacted"}, want: "it is redacted"},
	} {
		sent := &decode.Resource{TypeURL: cmp.Or(c.url, cluster), Body: []byte(c.more)}
		held := &Resource{Type: c.typ, TypeURL: sent.TypeURL, Unread: c.unread}
		if c.url != "" {
			sent.Body = slices.Concat(body(t, c.url, c.sent), []byte(c.more))
		}
		if c.held != "" {
			held.Body = body(t, sent.TypeURL, c.held)
		}
		same, changes, why := Alike(sent, held)
		got := why
		switch {
		case same && (changes != nil || why != ""):
			t.Errorf("%s: the same, and %v, %q", name, changes, why)
		case same:
			got = "same"
		case changes != nil && why == "":
			got = "changed"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
