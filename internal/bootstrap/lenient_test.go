package bootstrap

import (
	"fmt"
	"testing"
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
