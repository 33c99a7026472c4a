package bootstrap

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
)

// What may stand in another form for Envoy is found in that form.
func TestLeniencies(t *testing.T) {
	const form = `{dynamic_resources: {ads_config: {grpc_services: %s}}, static_resources: {clusters: {name: 'x',
		type: %s, load_assignment: {endpoints: %s,},},},}`
	const service, endpoint = `{"envoy_grpc": {"cluster_name": "x"}}`, `{lb_endpoints: {endpoint: {address: {socket_address: {address: "cp", port_value: "1"}}}}}`
	for _, c := range [][3]string{
		{service, `"STATIC"`, endpoint},
		{"[" + service + "]", `"strict_dns"`, "[" + endpoint + "]"},
		{"[[" + service + ", null]]", `"1"`, "[[" + endpoint + "]]"},
		{service, `null`, "[null, " + endpoint + "]"},
	} {
		for _, name := range []string{"x.json", "x.yaml"} {
			text := fmt.Sprintf(form, c[0], c[1], c[2])
			d, err := Parse(name, []byte(text), nil)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if len(d.Servers) != 1 || d.Servers[0].Address != "cp:1" || d.Servers[0].Obstacle != nil {
				t.Errorf("%s: %s: %+v", name, text, d.Servers)
				continue
			}
			if err := d.Servers[0].Redirect("127.0.0.1:2"); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Bytes(); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
	}
	// gRPC forgives none of it.
	if _, err := Parse("x.json", []byte(`{"xds_servers": [],}`), nil); err == nil {
		t.Error("a comma too many was read")
	}
}

// Of a key that stands twice, and of numbers, it is taken what Envoy takes; what
// else stands there is written again as it was.
func TestScalarsOfEnvoy(t *testing.T) {
	const endpoint = `endpoints: {lb_endpoints: {endpoint: {address: {socket_address: {address: cp, port_value: %s}}}}}`
	const form = `# mine
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0x4650}}}
dynamic_resources: {ads_config: {grpc_services: {envoy_grpc: {cluster_name: x}}}}
static_resources:
  clusters:
  - name: y
    name: x
    type: EDS
    type: %s
    load_assignment: {` + endpoint + `}
`
	for _, c := range [][3]string{
		{"STRICT_DNS", "0x4650", "cp:18000"},
		{"0x1", "010", "cp:8"},
		{"01", `"0x17"`, "cp:23"},
		{"strict_dns", `+8`, "cp:8"},
		{"STRICT_DNS", "1, port_value: 2", "cp:2"},
	} {
		d, err := Parse("x.yaml", fmt.Appendf(nil, form, c[0], c[1]), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Servers) != 1 || d.Servers[0].Address != c[2] || d.Servers[0].Obstacle != nil {
			t.Errorf("%s: %+v", c, d.Servers)
			continue
		}
		if err := d.Servers[0].Redirect("127.0.0.1:9"); err != nil {
			t.Fatal(err)
		}
		out, err := d.Bytes()
		if err != nil || !strings.Contains(string(out), "port_value: 0x4650") || !strings.Contains(string(out), "# mine") || !strings.Contains(string(out), "type: "+c[0]+"\n") {
			t.Errorf("%s: %v: %s", c, err, out)
		}
	}
	for _, port := range []string{"-1", "0x10000", "http", "1_0", "~"} {
		d, err := Parse("x.yaml", fmt.Appendf(nil, form, "STRICT_DNS", port), nil)
		if err != nil || len(d.Servers) != 1 || d.Servers[0].Obstacle == nil {
			t.Errorf("%s: %v", port, err)
		}
	}
	// In JSON lists and messages add up.
	d, err := Parse("x.json", []byte(`{"dynamic_resources": {"ads_config": {"grpc_services": {"envoy_grpc": {"cluster_name": "x"}}}}, "static_resources": {"clusters": []},
		"static_resources": {"clusters": {"name": "y"}, "clusters": {"name": "z", "name": "x", "type": "STATIC", "load_assignment": {"cluster_name": "x",
		"endpoints": {"lb_endpoints": {"endpoint": {"address": {"socket_address": {"address": "1.1.1.1", "port_value": 1}}}}}}}}}`), nil)
	if err != nil || len(d.Clusters) != 2 || len(d.Servers) != 1 || d.Servers[0].Address != "1.1.1.1:1" {
		t.Errorf("%v: %+v", err, d)
	}
}

// A field has two names, and one is made of the other.
func TestNamesOfFields(t *testing.T) {
	for name, want := range map[string]string{"eds_config": "edsConfig", "a_zone_a": "aZoneA", "x_1": "x1", "x_{": "x{", "x_`": "x`", "plain": "plain", "x_za": "xZa"} {
		if got := camel(name); got != want {
			t.Errorf("%s in camel case is %s, not %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"edsConfig": "eds_config", "aZoneA": "a_zone_a", "x@[": "x@[", "plain": "plain", "x1": "x1"} {
		if got := snake(name); got != want {
			t.Errorf("%s in snake case is %s, not %s", name, got, want)
		}
	}
}
