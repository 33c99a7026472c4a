package file_test

import (
	"strings"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/decode/file"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

const head = `version_info: "1"
resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: c1
`

// What becomes of a file, and what is said of it. The comments say what Envoy
// 1.40 did with the same one.
func TestRead(t *testing.T) {
	const left = "server.dynamic_unknown_fields"
	for name, tc := range map[string]struct {
		file, text string
		want       string // what the cluster has, in JSON without spaces
		said       string // a warning, or an error
		fails      bool
	}{
		"plain":      {"a.yaml", head, `"name":"c1"`, "", false},
		"capitals":   {"A.YAML", head, `"name":"c1"`, "", false},
		"yes":        {"a.yaml", head + "  respect_dns_ttl: Yes\n", `"respectDnsTtl":true`, "", false},
		"y":          {"a.yaml", head + "  respect_dns_ttl: y\n", `"respectDnsTtl":true`, "", false},
		"yEs":        {"a.yaml", head + "  respect_dns_ttl: yEs\n", `"respectDnsTtl":true`, "", false},
		"hex":        {"a.yaml", head + "  per_connection_buffer_limit_bytes: 0x10\n", `BufferLimitBytes":16`, "", false},
		"octal":      {"a.yaml", head + "  per_connection_buffer_limit_bytes: 010\n", `BufferLimitBytes":8`, "", false},
		"large":      {"a.yaml", head + "  per_connection_buffer_limit_bytes: 4294967295\n", `BufferLimitBytes":4294967295`, "", false},
		"under_line": {"a.yaml", head + "  per_connection_buffer_limit_bytes: 1_0\n", "", "a.yaml:5:38: per_connection_buffer_limit_bytes is of type uint32", true},
		"null":       {"a.yaml", head + "  circuit_breakers: ~\n", `"name":"c1"`, "", false},
		"no name":    {"a.yaml", strings.Replace(head, "c1", "no", 1), "", "a.yaml:4:9: name is of type string", true}, // update_failure
		"number":     {"a.yaml", strings.Replace(head, "c1", "17", 1), "", "a.yaml:4:9: name is of type string", true},
		"quoted":     {"a.yaml", strings.Replace(head, "c1", `'17'`, 1), `"name":"17"`, "", false},
		"float":      {"a.yaml", strings.Replace(head, "c1", `1.5`, 1), `"name":"1.5"`, "", false},
		"enum":       {"a.yaml", head + "  type: strict_dns\n", `"type":"STRICT_DNS"`, "", false}, // taken
		// Taken without it, and counted; rejected with --reject-unknown-dynamic-fields.
		"unknown enum":  {"a.yaml", head + "  type: STRICT_DSN\n", `"name":"c1"`, "a.yaml:5:9: this is no word of the enum of type", false},
		"unknown field": {"a.yaml", head + "  conect_timeout: 1s\n", `"name":"c1"`, `a.yaml:5:3: there is no field "conect_timeout"`, false},
		"unknown tree":  {"a.yaml", head + "  foo: {a: [1, {b: 2}], name: c2}\n  alt_stat_name: x\n", `"altStatName":"x"`, `a.yaml:5:3: there is no field "foo"`, false},
		"merge key":     {"a.yaml", head + "  <<: {alt_stat_name: x}\n", `"name":"c1"`, `a.yaml:5:3: there is no field "<<"`, false},
		"twice":         {"a.yaml", head + "  name: c2\n", `"name":"c2"`, `a.yaml:5:3: the key "name" stands twice`, false}, // c2
		"twice in JSON": {"a.json", `{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster",` + "\n" + `"name":"a","name":"b"}]}`, `"name":"b"`, `a.json:2:12: the field "name" stands twice`, false},
		"documents":     {"a.yaml", head + "---\nfoo: 1\n", `"name":"c1"`, "a.yaml:5: there is another document", false},
		"spelt twice":   {"a.yaml", head + "  connect_timeout: 1s\n  dns_lookup_family: AUTO\n  connectTimeout: 2s\n", `"connectTimeout":"2s"`, `a.yaml:7:3: the field "connectTimeout" stands twice`, false}, // 2s
		"comma":         {"a.json", "{\"version_info\": \"]},}\\\",}\",\n\"resources\":[{\"@type\":\"type.googleapis.com/envoy.config.cluster.v3.Cluster\",\"name\":\"c1\" , }]}", `"versionInfo":"]},}\",}"`, "", false},
		"two commas":    {"a.json", `{"version_info":"1",,}`, "", "a.json:1:", true},
		"alias":         {"a.yaml", head + "  alt_stat_name: &x y2\n  dns_lookup_family: AUTO\n  eds_cluster_config: {service_name: *x}\n", `"serviceName":"y2"`, "", false},
		"JSON":          {"a.json", `{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c1"}]}`, `"name":"c1"`, "", false},
		"JSON field":    {"a.json", "{\"resources\":[{\"@type\":\"type.googleapis.com/envoy.config.cluster.v3.Cluster\",\n\t\"name\":\"c1\",\n\t\"foo\":[{}]}]}", `"name":"c1"`, `a.json:3:2: there is no field "foo"`, false},
		"text":          {"a.pb_text", `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "c1" } }`, `"name":"c1"`, "", false},
		"textproto":     {"a.textproto", `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "c1" } }`, `"name":"c1"`, "a.textproto: Envoy takes a file that ends in .textproto for JSON", false}, // update_failure
		"text field":    {"a.pb_text", `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { foo: 1 } }`, "", `a.pb_text:1:69: there is no field "foo"`, true},                                            // update_failure
		"type":          {"a.yaml", head + "- \"@type\": type.googleapis.com/foo.Bar\n", "", `a.yaml:5:12: the type "foo.Bar" is not known`, true},                                                                       // update_failure
		"binary":        {"a.pb", "\n\x05ab", "", "a.pb: not a DiscoveryResponse", true},                                                                                                                                 // update_success, without a cluster
		"empty":         {"a.yaml", "", "", "a.yaml: empty", true},
		"scalar":        {"a.yaml", "hello", "", "a.yaml: no mapping", true},
		"not YAML":      {"a.yaml", "a: [", "", "a.yaml:1: ", true},
		"not JSON":      {"a.json", "{\n nope", "", "a.json:2:6: ", true},
		"half JSON":     {"a.json", `{"resources":[`, "", "a.json:1:15: it ends in the middle", true},
		"self":          {"a.yaml", "&a [*a]", "", "a.yaml:1: ", true},
		"key":           {"a.yaml", "{[a]: b}", "", "a.yaml:1: a key that is not a text", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := file.Read(tc.file, []byte(tc.text))
			if tc.fails {
				if err == nil || !strings.HasPrefix(err.Error(), tc.said) {
					t.Fatalf("%v, not %q", err, tc.said)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var r discovery.DiscoveryResponse
			if err := proto.Unmarshal(got.Response, &r); err != nil {
				t.Fatal(err)
			}
			text, err := protojson.Marshal(&r)
			if err != nil || !strings.Contains(strings.ReplaceAll(string(text), " ", ""), tc.want) {
				t.Errorf("%v: %s lacks %s", err, text, tc.want)
			}
			switch {
			case tc.said == "" && len(got.Warnings) > 0:
				t.Errorf("warned: %v", got.Warnings[0])
			case tc.said != "" && (len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0].Error(), tc.said)):
				t.Errorf("%v, not %q", got.Warnings, tc.said)
			}
			if strings.HasPrefix(name, "unknown") && !strings.Contains(got.Warnings[0].Hint, left) {
				t.Error(got.Warnings[0].Hint)
			}
		})
	}
}

// Whatever is wrong with a file, its values are not told: they may be secret.
func TestErrorsTellNoValue(t *testing.T) {
	const secret = "hunter2hunter2"
	for name, texts := range map[string][]string{
		"a.yaml": {
			head + "  connect_timeout: " + secret, head + "  connect_timeout: [" + secret + "]", head + "  type: " + secret,
			head + "  " + secret, head + "  x: \"" + secret, head + "  x: '" + secret, head + "  x: *" + secret, head + "  x: !<" + secret,
			head + "  transport_socket: " + secret, head + "  transport_socket: {typed_config: {\"@type\": 12, x: " + secret + "}}",
			"resources: " + secret, "resources: {a: " + secret + "}", secret, "- " + secret, "\t" + secret, head + "  per_connection_buffer_limit_bytes: " + secret,
			"resources: [{\"@type\": type.googleapis.com/google.protobuf.Timestamp, value: " + secret + "}]",
			"resources: [{\"@type\": type.googleapis.com/google.protobuf.BytesValue, value: \"-" + secret + "-!\"}]",
		},
		"a.json": {
			`{"resources":"` + secret + `"}`, `{"version_info":{"a":"` + secret + `"}}`, `{"version_info":` + secret + `}`, `{"version_info":"` + secret,
			`{"version_info":"\x` + secret, `{"canary":"` + secret + `"}`, `{"canary" "` + secret + `"}`, `"` + secret + `"`, secret,
			`{"control_plane":{"identifier":1,"x":"` + secret + `"}}`,
		},
		"a.pb_text": {
			`canary: "` + secret + `"`, `canary: ` + secret, `version_info: '` + secret, `version_info: "\x` + secret, `control_plane: "` + secret + `"`,
			`resources { type_url: ` + secret + ` }`, `version_info: ` + secret,
		},
	} {
		for _, text := range texts {
			got, err := file.Read(name, []byte(text))
			said := []error{err}
			for _, w := range got.Warnings {
				said = append(said, w)
			}
			for _, e := range said {
				if e != nil && strings.Contains(e.Error(), secret) {
					t.Errorf("%s: %s", text, e)
				}
			}
			if err == nil && len(got.Warnings) == 0 {
				t.Errorf("%s: nothing wrong", text)
			}
		}
	}
}

// Small files that stand for large ones are refused.
func TestAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		last, next := string(rune('0'+(i-1)%10))+strings.Repeat("_", (i-1)/10), string(rune('0'+i%10))+strings.Repeat("_", i/10)
		b.WriteString("a" + next + ": &a" + next + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+" , ", 10), " , ") + "]\n")
	}
	if _, err := file.Read("a.yaml", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "more values than can be read") {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"a.yaml": strings.Repeat("[", 5000), "a.json": `{"resources":` + strings.Repeat("[", 1<<20),
		"a.pb_text": strings.Repeat("control_plane {", 1<<16),
	} {
		if _, err := file.Read(name, []byte(text)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"a.yaml", "a.json", "a.pb_text", "a.pb"} {
		f.Add(name, []byte(head+"  name: c2\n  foo: [{a: b}]\n  type: eds\n"))
		f.Add(name, []byte(`{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c1","foo":{"a":[1]},"type":"eds"}]}`))
		f.Add(name, []byte(`resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "c1" } }`))
	}
	f.Add("a.yaml", []byte("&a [*a]"))
	for _, archive := range []string{"taken", "leftout", "rejected"} {
		for _, x := range fixtures(f, archive) {
			f.Add(x.Name, x.Data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !file.Is(name) || len(data) > 1<<16 {
			return
		}
		file.KindOf(name, data)
		got, err := file.Read(name, data)
		file.Sources(got.Response)
		if err != nil {
			if got.Response != nil || !strings.HasPrefix(err.Error(), name+":") {
				t.Fatalf("%+v, %v", got, err)
			}
			return
		}
		// What Envoy would take is a DiscoveryResponse.
		if err := proto.Unmarshal(got.Response, new(discovery.DiscoveryResponse)); err != nil {
			t.Fatal(err)
		}
	})
}
