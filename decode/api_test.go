package decode_test

import (
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv2 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v2"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	csdsv2 "github.com/envoyproxy/go-control-plane/envoy/service/status/v2"
	csdsv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func wireOfJSON(t *testing.T, msg proto.Message, text string) []byte {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), msg); err != nil {
		t.Fatal(err)
	}
	return handmade.Marshal(t, msg)
}

// The reports are read by field numbers: these are those of the API.
func TestPeekReportsOfTheAPI(t *testing.T) {
	const request = `{"node":{"id":"n1"},"cluster_stats":[{"cluster_name":"c1","cluster_service_name":"s1","total_dropped_requests":"7","load_report_interval":"1s"}]}`
	for _, msg := range []proto.Message{&lrsv2.LoadStatsRequest{}, &lrsv3.LoadStatsRequest{}} {
		want := decode.LoadStats{Node: &decode.Node{ID: "n1"}, Loads: []decode.ClusterLoad{{Name: "c1", Service: "s1", Dropped: 7}}}
		if diff := cmp.Diff(want, decode.PeekLoadStats(session.Client, wireOfJSON(t, msg, request))); diff != "" {
			t.Error(diff)
		}
	}
	const answer = `{"clusters":["c1"],"load_reporting_interval":"2.5s","send_all_clusters":true}`
	for _, msg := range []proto.Message{&lrsv2.LoadStatsResponse{}, &lrsv3.LoadStatsResponse{}} {
		want := decode.LoadStats{Clusters: []string{"c1"}, Interval: 2500 * time.Millisecond, SendAll: true}
		if diff := cmp.Diff(want, decode.PeekLoadStats(session.Server, wireOfJSON(t, msg, answer))); diff != "" {
			t.Error(diff)
		}
	}
	for word := range csdsv3.ConfigStatus_value {
		got := decode.PeekClientStatus(wireOfJSON(t, &csdsv3.ClientStatusResponse{}, `{"config":[{"node":{"id":"n1"},"client_scope":"s","generic_xds_configs":[
			{"type_url":"a/b.C","name":"x","version_info":"v","config_status":"`+word+`","client_status":"TIMEOUT","error_state":{"details":"d"}}]}]}`))
		want := decode.ClientStatus{Configs: []decode.ClientConfig{{NodeID: "n1", Scope: "s", Resources: []decode.ResourceStatus{
			{TypeURL: "a/b.C", Name: "x", Version: "v", Client: "TIMEOUT", Config: word, Error: "d"},
		}}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	got := decode.PeekClientStatus(wireOfJSON(t, &csdsv2.ClientStatusResponse{}, `{"config":[{"node":{"id":"n1"},"xds_config":[{"status":"STALE","route_config":{}}]}]}`))
	want := decode.ResourceStatus{TypeURL: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", Client: "UNKNOWN", Config: "STALE"}
	if diff := cmp.Diff(want, got.Configs[0].Resources[0]); diff != "" {
		t.Error(diff)
	}
}

func TestPeekConstraintsOfTheAPI(t *testing.T) {
	const constraints = `{"constraint":{"key":"k","value":"v"}}`
	wire := wireOfJSON(t, &discoveryv3.DeltaDiscoveryResponse{}, `{"resources":[{"name":"a","ttl":"0s","resource_name":{"name":"b","dynamic_parameter_constraints":`+constraints+`}}]}`)
	r := decode.Peek(xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"), session.Server, "", wire).Resources[0]
	if want := string(wireOfJSON(t, &discoveryv3.DynamicParameterConstraints{}, constraints)); r.Constraints != want || !r.BothNames || !r.HasTTL {
		t.Errorf("%+v", r)
	}
}
