package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	privately "github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

const (
	istioSet  = "../../decode/descriptors/testdata/istio.fds"
	ciliumSet = "../../decode/descriptors/testdata/cilium.fds"
)

// described are resources of types that are not linked, as show has to show them.
var described = []struct{ typ, text string }{
	{"istio.workload.Address", `{"workload":{"name":"web-0","namespace":"default","addresses":["CgAAAQ=="],"tunnel_protocol":"HBONE","workload_type":"POD",
		"uid":"c1//Pod/default/web-0","services":{"default/web.default.svc":{"ports":[{"service_port":80,"target_port":8080,"app_protocol":"HTTP11"}]}},"capacity":3}}`},
	{"istio.security.Authorization", `{"name":"deny","namespace":"default","scope":"NAMESPACE","action":"DENY","groups":[{"rules":[{"matches":[{"namespaces":[{"exact":"bad"}]}]}]}]}`},
	{"istio.networking.nds.v1.NameTable", `{"table":{"web.default.svc":{"ips":["10.0.0.1"],"registry":"Kubernetes","shortname":"web","namespace":"default"}}}`},
	{"istio.mesh.v1alpha1.ProxyConfig", `{"config_path":"./etc/istio/proxy","drain_duration":"45s","concurrency":2,"proxy_metadata":{"A":"b"}}`},
	{"istio.workload.Workload", `{"name":"alone","uid":"c1//Pod/default/alone","capacity":7}`},
	{"cilium.NetworkPolicy", `{"endpoint_ips":["10.0.0.9"],"endpoint_id":"7","ingress_per_port_policies":[{"port":80,"rules":[{"remote_policies":[9],
		"http_rules":{"http_rules":[{"headers":[{"name":":path","string_match":{"prefix":"/public"}}]}]}}]}]}`},
	{"cilium.NetworkPolicyHosts", `{"policy":"42","host_addresses":["10.0.0.9/32"]}`},
}

// Types that are not linked are recorded with their descriptors, and whoever gets
// the recording reads them without any.
func TestDescribedTypes(t *testing.T) {
	t.Parallel()
	types := privately.New()
	for _, set := range []string{istioSet, ciliumSet} {
		if told, err := types.Add(set, contents(t, set)); err != nil || told != nil {
			t.Fatal(told, err)
		}
	}
	var server, client xdstest.Part
	for i, d := range described {
		url := "type.googleapis.com/" + d.typ
		mt, err := types.FindMessageByName(protoreflect.FullName(d.typ))
		if err != nil {
			t.Fatal(err)
		}
		m := mt.New().Interface()
		if err := protojson.Unmarshal([]byte(d.text), m); err != nil {
			t.Fatal(err)
		}
		body, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		nonce := string(rune('a' + i))
		server = append(server, xdstest.Hear(url, ""), xdstest.Say(&discovery.DiscoveryResponse{
			TypeUrl: url, VersionInfo: "1", Nonce: nonce, Resources: []*anypb.Any{{TypeUrl: url, Value: body}},
		}), xdstest.Hear(url, nonce))
		client = append(client, xdstest.Say(&discovery.DiscoveryRequest{Node: &corev3.Node{Id: "ztunnel"}, TypeUrl: url}),
			xdstest.Hear(url, nonce), xdstest.Say(&discovery.DiscoveryRequest{TypeUrl: url, VersionInfo: "1", ResponseNonce: nonce}))
	}
	s, err := xdstest.StartScript("127.0.0.1:0", append(server, xdstest.End(codes.OK, "")))
	if err != nil {
		t.Fatal(err)
	}
	viewer := "unix:" + filepath.Join(t.TempDir(), "viewer.sock")
	p := startProxyWith(t, s.Addr(), setup{args: []string{"--descriptors", istioSet, "--descriptors", ciliumSet, "--embed-descriptors", "--viewer", viewer}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := xdstest.PlayClient(ctx, p.addr, xdstest.SotWStream, client); err != nil {
		t.Error(err)
	}
	eventually(t, "all of it is recorded", func() bool {
		return bytes.Contains(output(t, "info", viewer, "-o", "json"), fmt.Appendf(nil, `"messages": %d,`, 3*len(described)))
	})
	showsDescribed(t, viewer)
	p.stop(t)
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if said := p.stderr.String(); strings.Contains(said, "warning") {
		t.Errorf("the proxy warns:\n%s", said)
	}
	showsDescribed(t, p.file)
	onScreen(t, p.file, "host_addresses")

	// A part of it has them, too.
	part := filepath.Join(t.TempDir(), "part.xdsp")
	output(t, "export", p.file, "--filter", "what:resp", "-w", part)
	showsDescribed(t, part)
	if found := output(t, "check", part, "-o", "json", "--fail-on", "never"); bytes.Contains(found, []byte("not known")) {
		t.Errorf("check does not know the types: %s", found)
	}
}

func showsDescribed(t *testing.T, recording string) {
	t.Helper()
	type entry struct {
		Message  struct{ Resources []map[string]any }
		Problems []string
	}
	var got []entry
	for dec := json.NewDecoder(bytes.NewReader(output(t, "show", recording, "--filter", "what:resp", "-o", "json"))); dec.More(); {
		var e entry
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != len(described) {
		t.Fatalf("%d responses, want %d", len(got), len(described))
	}
	for i, d := range described {
		var want map[string]any
		if err := json.Unmarshal([]byte(d.text), &want); err != nil {
			t.Fatal(err)
		}
		want["@type"] = "type.googleapis.com/" + d.typ
		a, _ := json.Marshal(got[i].Message.Resources[0])
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) || len(got[i].Problems) > 0 {
			t.Errorf("%s is shown as\n%s\nwant\n%s\n%q", d.typ, a, b, got[i].Problems)
		}
	}
}

// output is what a command prints; it must succeed.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	cmd.Env = quietEnv(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	return out
}

// onScreen opens a response on the screen, and looks for the name of a field in its
// YAML.
func onScreen(t *testing.T, recording, field string) {
	t.Helper()
	p := newPane(t, 120, 40, "open", recording, "--filter", "what:resp")
	p.shows("[2 Timeline]", "RESP")
	p.press("G", "Enter")
	p.shows("summary")
	p.press("v")
	p.shows(field)
	p.press("q", "q")
}
