package held

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"slices"
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

func quietLog() *stdlog.Logger { return stdlog.New(io.Discard, "", 0) }

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// said is the message that an answer becomes.
func said(t testing.TB, a *answer) *statusv3.ClientConfig {
	t.Helper()
	items, _ := new(told).changes(a, true)
	var m statusv3.ClientStatusResponse
	if err := proto.Unmarshal(response(a.node, items), &m); err != nil || len(m.Config) != 1 {
		t.Fatalf("%v, %d configs", err, len(m.Config))
	}
	return m.Config[0]
}

func lines(c *statusv3.ClientConfig) (out []string) {
	for _, g := range c.GenericXdsConfigs {
		line := fmt.Sprintf("%s %s %s %q", g.TypeUrl[strings.LastIndexByte(g.TypeUrl, '.')+1:], g.Name, g.ClientStatus, g.VersionInfo)
		if g.XdsConfig == nil {
			line += " without"
		}
		if g.IsStaticResource {
			line += " static"
		}
		if e := g.ErrorState; e != nil {
			line += fmt.Sprintf(" %q %q", e.Details, e.VersionInfo)
		}
		out = append(out, line)
	}
	return out
}

// All states of a dump become those of CSDS.
func TestStates(t *testing.T) {
	const cluster = `{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"%s"}`
	of := func(name string) string { return fmt.Sprintf(cluster, name) }
	const listener = `{"@type":"type.googleapis.com/envoy.config.listener.v3.Listener","name":"in"%s}`
	text := `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":{"node":{"id":"n"}}},
		{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","static_clusters":[{"cluster":` + of("xds") + `}],
		"dynamic_active_clusters":[{"version_info":"1","cluster":` + of("web") + `,"last_updated":"2026-01-02T03:04:05.678Z"}],
		"dynamic_warming_clusters":[{"version_info":"2","cluster":` + of("api") + `},{"version_info":"2","cluster":` + of("web") + `}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[{"name":"in",
		"active_state":{"version_info":"2","listener":` + fmt.Sprintf(listener, `,"stray":1`) + `},"draining_state":{"version_info":"1","listener":` + fmt.Sprintf(listener, "") + `},
		"error_state":{"details":"no","version_info":"3","failed_configuration":` + fmt.Sprintf(listener, "") + `}}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.SecretsConfigDump","dynamic_warming_secrets":[{"name":"key","version_info":"uninitialized","secret":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret","name":"key"}}]}]}`
	d, err := configdump.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a, err := fromDump(d)
	if err != nil {
		t.Fatal(err)
	}
	a.addUnready([]byte(`{"unready_targets_dumps":[{"name":"init manager Server","target_names":["target CDS"]},{"name":"none"}]}`))
	a.addStats([]byte("listener_manager.lds.update_rejected: 1\nlistener_manager.lds.version_text: \"3\"\nx: \"y\"\n: 1\n"))
	c := said(t, a)
	got := lines(c)
	slices.Sort(got)
	want := []string{
		`Cluster api REQUESTED "2"`,
		`Cluster web ACKED "1"`,
		`Cluster web REQUESTED "2"`,
		`Cluster xds ACKED "" static`,
		`Listener in ACKED "2" "there is no field \"stray\"" ""`,
		`Listener in DOES_NOT_EXIST "1"`,
		`Listener in NACKED "" without "no" "3"`,
		`Secret key REQUESTED "" without`,
		`SimpleMetric listener_manager.lds.update_rejected ACKED ""`,
		`SimpleMetric listener_manager.lds.version_text ACKED "3"`,
		`UnreadyTargetsDumps init_dump ACKED ""`,
	}
	if !slices.Equal(got, want) || c.Node.GetId() != "n" {
		t.Errorf("node %q\n%s\nwant\n%s", c.Node.GetId(), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, g := range c.GenericXdsConfigs {
		if g.XdsConfig != nil {
			if m, err := g.XdsConfig.UnmarshalNew(); err != nil {
				t.Errorf("%s %s: %v", g.TypeUrl, g.Name, err)
			} else if metric, is := m.(*adminv3.SimpleMetric); is && metric.Name != g.Name {
				t.Errorf("%v", metric)
			}
		}
		if e := g.ErrorState; e != nil && g.ClientStatus == adminv3.ClientResourceStatus_NACKED && e.FailedConfiguration.GetTypeUrl() != g.TypeUrl {
			t.Errorf("%v", e)
		}
		if g.VersionInfo == "1" && g.Name == "web" && g.LastUpdated.AsTime().Format("05.000") != "05.678" {
			t.Errorf("%v", g.LastUpdated)
		}
	}
}

// A change has all that is said of a resource of which something changed, and what went
// away.
func TestChanges(t *testing.T) {
	of := func(words ...string) *answer {
		a := &answer{id: "n"}
		for _, w := range words {
			name, version, _ := strings.Cut(w, "@")
			g := generic{key: key{"t", name}, version: version, state: acked}
			a.items = append(a.items, g.item())
		}
		return a
	}
	var mind told
	for i, c := range []struct {
		a     *answer
		whole bool
		want  []string
	}{
		{of("a@1", "b@1"), true, []string{`a ACKED "1"`, `b ACKED "1"`}},
		{of("b@1", "a@1"), false, nil},
		{of("a@2", "b@1"), false, []string{`a ACKED "2"`}},
		{of("a@2", "b@2", "b@1"), false, []string{`b ACKED "1"`, `b ACKED "2"`}},
		{of("b@1", "c@1"), false, []string{`a DOES_NOT_EXIST ""`, `b ACKED "1"`, `c ACKED "1"`}},
		{of(), false, []string{`b DOES_NOT_EXIST ""`, `c DOES_NOT_EXIST ""`}},
		{&answer{id: "other"}, true, nil},
	} {
		items, whole := mind.changes(c.a, false)
		var m statusv3.ClientStatusResponse
		if err := proto.Unmarshal(response(nil, items), &m); err != nil {
			t.Fatal(err)
		}
		got := lines(m.Config[0])
		for i := range got {
			got[i] = strings.TrimSuffix(strings.TrimPrefix(got[i], "t "), " without")
		}
		slices.Sort(got)
		if whole != c.whole || !slices.Equal(got, c.want) {
			t.Errorf("step %d: whole %v, %q, want %q", i, whole, got, c.want)
		}
	}
}

// What gRPC says of a resource that it rejected, and of which it has an older one, is
// two items.
func TestRejectedAndInUse(t *testing.T) {
	data, err := proto.Marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{
		{ClientScope: "a", GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{
			{TypeUrl: "x/T", Name: "n", VersionInfo: "1", XdsConfig: &anypb.Any{TypeUrl: "x/T", Value: []byte{8, 1}}, ClientStatus: adminv3.ClientResourceStatus_NACKED, ErrorState: &adminv3.UpdateFailureState{Details: "no", VersionInfo: "2"}},
			{TypeUrl: "x/T", Name: "m", ClientStatus: adminv3.ClientResourceStatus_REQUESTED},
		}},
		{ClientScope: "b", GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{
			{TypeUrl: "x/T", Name: "m", ClientStatus: adminv3.ClientResourceStatus_REQUESTED},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := fromStatus(data)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(said(t, a))
	slices.Sort(got)
	if want := []string{`x/T m REQUESTED "" without`, `x/T n ACKED "1"`, `x/T n NACKED "" without "no" "2"`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]string{
		"127.0.0.1:9901": " tcp 127.0.0.1:9901", "localhost:1": " tcp localhost:1", "[::1]:1": " tcp [::1]:1",
		"web-0=127.0.0.1:9901": "web-0 tcp 127.0.0.1:9901", "a=b=unix:/run/x=y": "a=b unix unix:/run/x=y", "unix:@a=b": " unix unix:@a=b",
		"https://pod:9901": " tcp https://pod:9901", "n=http://10.0.0.1:9901/": "n tcp 10.0.0.1:9901",
		"10.0.0.1:9901": "", "pod:9901": "", "": "", "9901": "", "unix:x": "", "ftp://a:1": "", "http://a": "", "http://u:p@a:1": "", "http://a:1/x": "", "http://a:1?b": "", "n=": "",
	} {
		p, err := Parse(EnvoyAdmin, s)
		if got := p.Node + " " + p.Network + " " + p.String(); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v, want %q", s, got, err, want)
		}
	}
}

func FuzzFromDump(f *testing.F) {
	f.Add(real(f), []byte(`{"unready_targets_dumps":[{"name":"a","target_names":["b"]}]}`), []byte("a.version_text: \"b\"\nc: 1\n"))
	f.Fuzz(func(t *testing.T, dump, waits, stats []byte) {
		d, err := configdump.Read(dump)
		if err != nil {
			d = &configdump.Dump{}
		}
		a, err := fromDump(d)
		if err != nil {
			return
		}
		a.addUnready(waits)
		a.addStats(stats)
		said(t, a)
		again(t, a)
	})
}

func FuzzFromStatus(f *testing.F) {
	data, err := proto.Marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{{GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{
		{TypeUrl: "x/T", Name: "n", XdsConfig: &anypb.Any{Value: []byte{8, 1}}, ClientStatus: adminv3.ClientResourceStatus_NACKED, ErrorState: &adminv3.UpdateFailureState{Details: "no"}},
	}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := fromStatus(data)
		if err != nil {
			return
		}
		for _, i := range a.items {
			if len(i.raw) > 2*len(data)+16 {
				t.Fatalf("%d bytes of %d", len(i.raw), len(data))
			}
		}
		again(t, a)
	})
}

// again says that the same answer is no change.
func again(t *testing.T, a *answer) {
	t.Helper()
	var mind told
	mind.changes(a, false)
	if items, whole := mind.changes(a, false); len(items) > 0 || whole {
		t.Fatalf("the same again: %d items, whole %v", len(items), whole)
	}
}
