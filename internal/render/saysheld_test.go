package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

type says = statusv3.ClientConfig_GenericXdsConfig

// said is a resource as a client speaks of it; body is its content, if it is there.
func said(t *testing.T, short, name string, status adminv3.ClientResourceStatus, body proto.Message) *says {
	t.Helper()
	g := &says{TypeUrl: xds.TypeURL(short), Name: name, ClientStatus: status}
	if body != nil {
		content, err := anypb.New(body)
		if err != nil {
			t.Fatal(err)
		}
		g.XdsConfig = content
	}
	return g
}

// heldEntry is an entry of what a client holds.
func heldEntry(t *testing.T, whole bool, items ...*says) *session.Entry {
	t.Helper()
	data, err := proto.Marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{{GenericXdsConfigs: items}}})
	if err != nil {
		t.Fatal(err)
	}
	return &session.Entry{
		Seq: 7, Time: time.Unix(1_800_000_000, 0), Side: session.Client, Kind: session.KindHeld,
		Held:    &session.Held{Node: "gw-0", Source: session.HeldAdmin, Address: "127.0.0.1:9901", Whole: whole},
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))},
	}
}

const (
	active   = adminv3.ClientResourceStatus_ACKED
	awaiting = adminv3.ClientResourceStatus_REQUESTED
	noSuch   = adminv3.ClientResourceStatus_DOES_NOT_EXIST
	denied   = adminv3.ClientResourceStatus_NACKED
	gaveUp   = adminv3.ClientResourceStatus_TIMEOUT
)

func TestHeldLine(t *testing.T) {
	cluster, listener := &clusterv3.Cluster{Name: "a"}, &listenerv3.Listener{Name: "in"}
	static := said(t, "CDS", "xds", active, cluster)
	static.IsStaticResource = true
	nacked := said(t, "CDS", "c", denied, nil)
	nacked.ErrorState = &adminv3.UpdateFailureState{Details: "no\x1b[31m hosts"}
	many := []*says{}
	for i := range 1200 {
		many = append(many, said(t, "EDS", fmt.Sprintf("e%04d", i), active, nil))
	}
	failed := heldEntry(t, false)
	failed.Message, failed.Held.Failed = nil, "connection denied"
	waits := said(t, "CDS", "init_dump", active, &adminv3.UnreadyTargetsDumps{
		UnreadyTargetsDumps: []*adminv3.UnreadyTargetsDumps_UnreadyTargetsDump{{Name: "init manager Server", TargetNames: []string{"target cds", "target lds"}}},
	})
	waits.TypeUrl = xds.AdminPrefix + "UnreadyTargetsDumps"
	for name, tc := range map[string]struct {
		entry *session.Entry
		want  string
		facts []string
	}{
		"whole": {
			heldEntry(t, true, said(t, "LDS", "in", active, listener), said(t, "CDS", "b", awaiting, cluster), said(t, "CDS", "a", active, cluster), static, nacked, waits),
			"holds 1 LDS, 1 CDS, 1 static; warming: CDS b; rejected: CDS c",
			[]string{"in use=1 LDS, 1 CDS, 1 static", "warming=CDS b", "rejected=CDS c", "init_dump=init manager Server: target cds, target lds"},
		},
		"changes": {
			heldEntry(t, false, said(t, "CDS", "a", active, cluster), said(t, "LDS", "in", noSuch, listener), said(t, "LDS", "out", noSuch, nil), said(t, "EDS", "e", awaiting, nil), said(t, "RDS", "r", gaveUp, nil)),
			"changed: CDS a; awaited: EDS e; timed out: RDS r; draining: LDS in; gone: LDS out",
			[]string{"in use=CDS a", "awaited=EDS e", "timed out=RDS r", "draining=LDS in", "gone=LDS out"},
		},
		"many":           {heldEntry(t, false, many...), "changed: EDS e0000, e0001, e0002 and 1,197 more", []string{"in use=EDS e0000"}},
		"failed":         {failed, "envoy-admin 127.0.0.1:9901 cannot be read: connection denied", []string{"failed=connection denied"}},
		"nothing":        {heldEntry(t, true), "holds nothing", []string{"in use=nothing"}},
		"only of itself": {heldEntry(t, false, waits), "what it says of itself changed, and none of its resources", []string{"init_dump=init manager Server: target cds, target lds"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &check.Change{}
			c.Method, c.Client = xds.Held(), "gw-0"
			table := NewTable(0, Style{})
			table.See(tc.entry, c)
			line := table.Line(tc.entry, c)
			if !strings.Contains(line, "gw-0") || !strings.Contains(line, "HELD") || !strings.HasSuffix(strings.TrimRight(line, "\n"), tc.want) {
				t.Errorf("%q, want %q", line, tc.want)
			}
			facts := map[string]bool{}
			all := Explain(tc.entry, c, Surroundings{})
			for i := range all {
				facts[all[i].Name+"="+all[i].Text] = true
			}
			for _, want := range append(tc.facts, "source=envoy-admin", "address=127.0.0.1:9901") {
				if !facts[want] {
					t.Errorf("no fact %q among %v", want, facts)
				}
			}
			if len(all) > mostHeldFacts+20 {
				t.Errorf("%d facts", len(all))
			}
		})
	}
}

// Long names that differ in the middle are told apart.
func TestHeldNamesApart(t *testing.T) {
	name := func(with string) string { return strings.Repeat("a", 40) + with + strings.Repeat("b", 40) }
	e := heldEntry(t, false, said(t, "CDS", name("x"), active, nil), said(t, "CDS", name("y"), active, nil))
	first, second, _ := strings.Cut(strings.TrimPrefix(heldText(e, false), "changed: CDS "), ", ")
	if first == second || !strings.Contains(first, "x") || !strings.Contains(second, "y") || Width(first) > heldNameWidth || Width(second) > heldNameWidth {
		t.Errorf("%q, %q", first, second)
	}
}

func TestHeldObject(t *testing.T) {
	entry := heldEntry(t, true, said(t, "CDS", "b", awaiting, &clusterv3.Cluster{Name: "b"}), said(t, "CDS", "a", active, nil))
	line, err := NewObject(entry, &check.Change{}).Line()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Kind string
		Held struct {
			Node, Source, Address string
			Whole                 bool
			InUse                 map[string]int `json:"in_use"`
			Resources             []HeldItem
		}
	}
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	h := &got.Held
	if got.Kind != "held" || h.Node != "gw-0" || h.Source != "envoy-admin" || !h.Whole || h.InUse["CDS"] != 1 ||
		len(h.Resources) != 1 || h.Resources[0] != (HeldItem{Type: "CDS", Name: "b", State: "warming"}) {
		t.Errorf("%s", line)
	}
}

// Each resource that one refers to stands below it once, whether it is there or not.
func TestHeldTreeOfReferences(t *testing.T) {
	route := func(cluster string) *routev3.Route {
		return &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}}}
	}
	routes := &routev3.RouteConfiguration{Name: "main", VirtualHosts: []*routev3.VirtualHost{{Name: "all", Routes: []*routev3.Route{route("a"), route("b"), route("a"), route("gone")}}}}
	var h Holders
	h.See(heldEntry(t, true, said(t, "RDS", "main", active, routes), said(t, "CDS", "a", active, &clusterv3.Cluster{Name: "a"}), said(t, "CDS", "b", active, &clusterv3.Cluster{Name: "b"})), &check.Change{})
	tree := h.Tree("gw-0", 7)
	names := func(list []*Node) (out []string) {
		for _, n := range list {
			out = append(out, n.Type+" "+n.Name)
		}
		return out
	}
	if got := fmt.Sprint(names(tree.Roots), names(tree.Dangling), names(tree.Missing)); got != "[] [RDS main] [CDS gone]" {
		t.Fatal(got)
	}
	if got := strings.Join(names(tree.Dangling[0].Children), ", "); got != "CDS a, CDS b, CDS gone" {
		t.Errorf("below the routes stand %s", got)
	}
	// Two of one name are of two types.
	ads := &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
	tls, err := anypb.New(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: "x", SdsConfig: ads}}}})
	if err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv3.Cluster{
		Name: "x", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}, EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads},
		TransportSocket: &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: tls}},
	}
	h = Holders{}
	h.See(heldEntry(t, true, said(t, "CDS", "x", active, cluster)), &check.Change{})
	below := names(h.Tree("gw-0", 7).Dangling[0].Children)
	slices.Sort(below)
	if got := strings.Join(below, ", "); got != "EDS x, SDS x" {
		t.Errorf("below the cluster stand %s", got)
	}
}

// So many resources are named on the line of what a client holds, and so many are told of
// each by itself; of others there is the number.
func TestHeldNamesAreBounded(t *testing.T) {
	of := func(n int) *session.Entry {
		all := make([]*says, n)
		for i := range all {
			all[i] = said(t, "EDS", fmt.Sprintf("e%04d", i), active, nil)
		}
		return heldEntry(t, false, all...)
	}
	for n, want := range map[int]string{mostHeldNames: "changed: EDS e0000, e0001, e0002", mostHeldNames + 1: "changed: EDS e0000, e0001, e0002 and 1 more"} {
		if got := heldText(of(n), false); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for n, more := range map[int]string{mostHeldFacts: "", mostHeldFacts + 1: "and 1 more; yaml shows all of it"} {
		named, rest := 0, ""
		all := Explain(of(n), &check.Change{}, Surroundings{})
		for i := range all {
			if strings.HasPrefix(all[i].Text, "EDS e") {
				named++
			}
			if strings.Contains(all[i].Means, "yaml shows all") {
				rest = all[i].Means
			}
		}
		if named != mostHeldFacts || rest != more {
			t.Errorf("%d: %d are told, %q", n, named, rest)
		}
	}
}
