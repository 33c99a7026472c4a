package configdump

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// real is what an Envoy 1.40 wrote for ?include_eds, but for most of its
// bootstrap.
func real(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/secrets.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func states(d *Dump) (out []string) {
	for i := range d.Resources {
		r := &d.Resources[i]
		line := fmt.Sprintf("%s %s %s", r.Type, r.State, r.Name)
		if r.Derived {
			line += " derived"
		}
		if r.Body == nil {
			line += " unread"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestRead(t *testing.T) {
	d, err := Read(real(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CDS active ledger", "CDS active payments", "CDS active web", "CDS static xds",
		"EDS active ledger", "EDS active payments", "EDS active web", "EDS static xds derived",
		"LDS active ingress", "RDS active routes", "SDS active ledger-cert", "SDS active payments-cert",
	}
	if got := states(d); !slices.Equal(got, want) {
		t.Errorf("it has\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d.Node != "envoy" || !d.Has("EDS") || !d.Has("SDS") || d.Has("SRDS") != strings.Contains(string(real(t)), "ScopedRoutes") || len(d.Notes) > 0 {
		t.Errorf("node %q, types %v, notes %q", d.Node, d.types, d.Notes)
	}
	for _, r := range d.Resources {
		if r.State == Active && r.Type != "EDS" && (r.Version == "" || r.Updated.IsZero()) {
			t.Errorf("%s %s has version %q of %s", r.Type, r.Name, r.Version, r.Updated)
		}
	}
}

// istiod writes names in camel case.
func TestReadCamelCase(t *testing.T) {
	var tree any
	if err := json.Unmarshal(real(t), &tree); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(camel(tree))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	one, err := Read(real(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := states(d), states(one); !slices.Equal(got, want) || d.sum() != one.sum() {
		t.Errorf("it has %q and not %q", got, want)
	}
}

// Some shells put a mark before a text in UTF-8.
func TestReadMark(t *testing.T) {
	for _, text := range []string{string(real(t)), `{"config":[{"node":{"id":"n"},"generic_xds_configs":[]}]}`} {
		marked := []byte("\uFEFF" + text)
		if !Is(marked) && !IsStatus(marked) {
			t.Errorf("%.40s is not known", marked)
		}
		if all, err := ReadAll(marked); err != nil || len(all) != 1 {
			t.Errorf("%.40s: %d clients, %v", marked, len(all), err)
		}
	}
}

func camel(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, of := range v {
			if !strings.Contains(k, ".") {
				parts := strings.Split(k, "_")
				for i := 1; i < len(parts); i++ {
					parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
				}
				k = strings.Join(parts, "")
			}
			out[k] = camel(of)
		}
		return out
	case []any:
		for i := range v {
			v[i] = camel(v[i])
		}
	}
	return v
}

func TestReadStates(t *testing.T) {
	const listener = `{"@type":"type.googleapis.com/envoy.config.listener.v3.Listener","name":"in"}`
	const cluster = `{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"%s","type":"EDS","eds_cluster_config":{"service_name":"%s"}%s}`
	d, err := Read([]byte(`{"configs":[
		{"dynamic_listeners":[
			{"name":"in","active_state":{"version_info":"1","listener":` + listener + `},"warming_state":{"version_info":"2","listener":` + listener + `},
			 "draining_state":{"version_info":"0","listener":` + listener + `},
			 "error_state":{"failed_configuration":` + listener + `,"version_info":"3","details":"why not","last_update_attempt":"2026-11-01T10:00:00.5Z"},"client_status":7},
			{"error_state":{"details":"of none by name"}}, 5],
		 "@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","version_info":"9","new_in_some_version":[{}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_warming_clusters":[
			{"cluster":` + fmt.Sprintf(cluster, "a", "one", `,"new_field":{"x":1}`) + `}],"dynamic_active_clusters":[
			{"cluster":` + fmt.Sprintf(cluster, "b", "two", `,"transport_socket":{"name":"x","typed_config":{"@type":"type.googleapis.com/unheard.of.Socket"}}`) + `},
			{"cluster":"text"}, {}]},
		{"@type":"type.googleapis.com/envoy.admin.v9.WorldConfigDump"},
		{"@type":"type.googleapis.com/envoy.admin.v3.ScopedRoutesConfigDump","dynamic_scoped_route_configs":[{"name":"set","version_info":"4","scoped_route_configs":[
			{"@type":"type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration","name":"s1"},
			{"@type":"type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration","name":"s2"}]}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.SecretsConfigDump","dynamic_warming_secrets":[{"name":"cert","version_info":"uninitialized",
			"last_updated":"2026-11-22T10:00:00Z","secret":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret","name":"cert"}}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.EcdsConfigDump","ecds_filters":[{"version_info":"5",
			"ecds_filter":{"@type":"type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig","name":"wasm"}}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CDS active  unread", "CDS active b unread", "CDS warming a",
		"ECDS active wasm",
		"LDS active in", "LDS draining in", "LDS error  unread", "LDS error in", "LDS warming in",
		"SDS awaited cert", "SRDS active s1", "SRDS active s2",
	}
	if got := states(d); !slices.Equal(got, want) {
		t.Errorf("it has\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, r := range d.Resources {
		switch {
		case r.State == Failed && r.Name == "in" && (r.Details != "why not" || r.Version != "3" || r.Updated.Nanosecond() != 5e8):
			t.Errorf("%+v", r)
		case r.Name == "a" && !slices.Contains(r.Unread, `there is no field "new_field"`), r.Name == "b" && !strings.Contains(strings.Join(r.Unread, ""), "unheard.of.Socket"):
			t.Errorf("of %s it says %q", r.Name, r.Unread)
		}
	}
	if !d.Warming() || d.Source("one") != Warming || d.Source("three") != "" {
		t.Errorf("sources are %v", d.sources)
	}
	if said := strings.Join(d.Notes, "; "); said != "an entry of LDS is no object; its newinsomeversion are not read; WorldConfigDump is not read" {
		t.Errorf("it says %q", said)
	}
}

func TestReadWhatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		``: "it is no config_dump", `[]`: "it is no config_dump", `{"config":1}`: "it is no config_dump", `{"configs":`: "it ends in the middle",
		`{"configs":[{"dynamic_listeners":[`: "it ends in the middle", `{"configs":{}}`: "a list of objects", `{"configs":[7]}`: "a list of objects",
		`{"configs":[}`: "invalid character",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s it says %v", text, err)
		}
	}
	if d, err := Read([]byte(" {\n \"configs\" : null }")); err != nil || len(d.Resources) > 0 {
		t.Errorf("of none: %v, %v", d, err)
	}
}

func TestParseAdmin(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:9901": "http://127.0.0.1:9901/config_dump?include_eds", "[::1]:1": "http://[::1]:1/config_dump?include_eds",
		"http://localhost:9901/config_dump": "http://localhost:9901/config_dump?include_eds",
		"10.0.0.1:9901":                     "not an address of this machine's loopback", "https://127.0.0.1:1": "speaks http", "127.0.0.1": "the port is missing",
		"http://a@127.0.0.1:1": "neither", "": "neither", "example.com:80": "loopback",
	} {
		a, err := ParseAdmin(addr)
		if got := fmt.Sprint(err); (err != nil || a.base+DumpPath != want) && !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// FuzzRead: whatever it is, nothing panics, and what was read can be compared with
// itself.
func FuzzRead(f *testing.F) {
	f.Add(real(f))
	f.Add([]byte(`{"configs":[{"@type":"x/a.ListenersConfigDump","dynamic_listeners":[{"name":"a","active_state":{"listener":{"@type":"t/envoy.config.listener.v3.Listener"}}}]}]}`))
	f.Add([]byte(`{"configs":[{"dynamic_endpoint_configs":[{"endpoint_config":{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"::1"}}}},{}]},{}]}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data)
		if err != nil {
			return
		}
		_ = d.sum()
		for i := range d.Resources {
			r := &d.Resources[i]
			if len(r.Name) > maxText+64 {
				t.Errorf("a name of %d bytes", len(r.Name))
			}
			if same, why := itself(r); !same && why == "" {
				t.Errorf("%s %q differs from itself", r.Type, r.Name)
			}
		}
	})
}
