package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// nameSessions are of xdstp names, collections of them, and errors by name.
func nameSessions() []recordedSession {
	return []recordedSession{
		{
			name: "envoy-delta-collections",
			story: "An Envoy asks for collections of clusters, of listeners and of endpoints by xdstp names that end\n" +
				"with a star and the id of its node, and for what these refer to by other names. A listener and an endpoint go,\n" +
				"and an endpoint comes.",
			record: recordCollections, differs: locating,
		},
		{
			name: "grpc-go-federation",
			story: "A gRPC client asks an authority of its own for everything, by xdstp names. It says by CSDS what it\n" +
				"holds, to somebody who asks through the proxy, on a stream and once more without one. Then its\n" +
				"backend moves.",
			record: recordFederation,
		},
		{
			name: "grpc-core-resource-errors",
			story: "A gRPC client asks for a cluster, and the control plane says that there is none. The cluster comes.\n" +
				"Then the control plane says that it does not know for a while where its endpoints are. The client\n" +
				"goes on with those that it has, and gets others later.",
			record: recordResourceErrors,
		},
	}
}

const (
	leds = "type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint"

	authority = "names.e2e"
)

// xdstpName is the name of a resource of the authority.
func xdstpName(typeURL, id string) string {
	return "xdstp://" + authority + "/" + typeURL[len(typePrefix):] + "/" + id
}

// locating lets an Envoy ask for collections.
func locating(v *variant) {
	aggregated := object{"resource_api_version": "V3", "api_config_source": object{
		"api_type": "AGGREGATED_DELTA_GRPC", "transport_api_version": "V3",
	}}
	v.dynamic = object{
		"ads_config": v.dynamic["ads_config"], "cds_config": aggregated, "lds_config": aggregated,
		"cds_resources_locator": xdstpName(cds, "mesh/*"), "lds_resources_locator": xdstpName(lds, "mesh/*"),
	}
	v.context = []string{"id"}
}

// byName is a response of a delta server, with the names that resources go by.
func byName(typeURL, nonce string, removed []string, resources map[string]proto.Message) xdstest.Move {
	m := &discovery.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: nonce, RemovedResources: removed}
	for name, r := range resources {
		m.Resources = append(m.Resources, &discovery.Resource{Name: name, Version: nonce, Resource: packed(r)})
	}
	return xdstest.Say(m)
}

func recordCollections(t *testing.T) string {
	type resources = map[string]proto.Message
	v := variants()[1]
	locating(&v)
	m := emptyMesh(xdstest.ADS())
	const ours = "?xds.node.id=" + envoyNode // the context that collections are asked for with
	cluster, assignment := xdstpName(cds, "mesh/web"+ours), xdstpName(eds, "mesh/web")
	m.cluster(cluster, 1)
	m.clusters[cluster].EdsClusterConfig.ServiceName = assignment
	routes := xdstpName(rds, "routes")
	m.route(routes, cluster)
	first, second := xdstpName(lds, "mesh/first"+ours), xdstpName(lds, "mesh/second"+ours)
	m.listener(t, first, routes)
	m.listener(t, second, routes)
	endpoint := func(name string) resources {
		m.endpointsAt(t, name, freeAddr(t))
		return resources{xdstpName(leds, "web/"+name+ours): m.endpoints[name].GetEndpoints()[0].GetLbEndpoints()[0]}
	}
	gone := endpoint("a")
	return atEnvoy(t, v, xdstest.Part{
		hear(cds, ""), byName(cds, "clusters-1", nil, resources{cluster: m.clusters[cluster]}),
		hear(eds, ""), byName(eds, "assignments-1", nil, resources{assignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: assignment,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbConfig: &endpointv3.LocalityLbEndpoints_LedsClusterLocalityConfig{
				LedsClusterLocalityConfig: &endpointv3.LedsClusterLocalityConfig{
					LedsConfig: xdstest.ADS(), LedsCollectionName: xdstpName(leds, "web/*"),
				},
			}}},
		}}),
		hear(leds, ""), byName(leds, "endpoints-1", nil, gone),
		hear(lds, ""), byName(lds, "listeners-1", nil, resources{first: m.listeners[first], second: m.listeners[second]}),
		hear(rds, ""), byName(rds, "routes-1", nil, resources{routes: m.routes[routes]}),
		hear(rds, "routes-1"), hear(lds, "listeners-1"), pause(quiet),
		byName(lds, "listeners-2", []string{second}, nil), hear(lds, "listeners-2"), pause(quiet),
		byName(leds, "endpoints-2", []string{xdstpName(leds, "web/a"+ours)}, endpoint("b")), hear(leds, "endpoints-2"), pause(idle),
	})
}

// federated is the bootstrap of a gRPC client of the authority.
func federated(t *testing.T, addr, node string) []byte {
	t.Helper()
	var o object
	if err := json.Unmarshal(plainBootstrap(t, addr, node), &o); err != nil {
		t.Fatal(err)
	}
	o["authorities"] = object{authority: object{}}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func recordFederation(t *testing.T) string {
	backend := func() string {
		b, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_SERVING)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Stop)
		return b.Addr()
	}
	m := emptyMesh(xdstest.Self())
	routes, cluster := xdstpName(rds, "routes"), xdstpName(cds, "greeter")
	assignment := xdstpName(eds, "greeter")
	m.cluster(cluster, 1)
	m.clusters[cluster].EdsClusterConfig.ServiceName = assignment
	m.endpointsAt(t, assignment, backend())
	m.route(routes, cluster)
	m.apiListener(t, xdstpName(lds, service), routes)
	control := startControlPlaneAs(t, "grpc-go", xdstest.Options{OwnVersions: true})
	control.set(t, m.world())

	holder := freeAddr(t) // where the client says what it holds
	p := startProxyWith(t, control.Addr(), setup{args: []string{"--listen", freeAddr(t), "--upstream", holder}})
	toHolder := p.stderr.find(t, regexp.MustCompile(`listening on (\S+), upstream `+regexp.QuoteMeta(holder)+","), p.exited)[1]
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientVariable+"=xds://"+authority+"/"+service, statusVariable+"="+holder,
		"GRPC_XDS_BOOTSTRAP_CONFIG="+string(federated(t, p.addr, "grpc-go")))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newLines()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("output of the client:\n%s", out)
		}
	})
	control.wait(t, "a client", settled)
	control.rest(t, quiet)
	askStatus(t, toHolder)
	control.push(t, func() {
		m.endpointsAt(t, assignment, backend())
		control.set(t, m.world())
	})
	time.Sleep(idle)
	stdin.Close()
	select {
	case <-exited:
	case <-time.After(patience):
		t.Error("the client does not end when its standard input does")
	}
	time.Sleep(quiet)
	p.stop(t)
	return p.file
}

// askStatus asks a gRPC client what it holds, on a stream and without one.
func askStatus(t *testing.T, addr string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := statusv3.NewClientStatusDiscoveryServiceClient(conn)
	everybody := &statusv3.ClientStatusRequest{}
	s, err := client.StreamClientStatus(ctx, grpc.WaitForReady(true))
	if err == nil {
		err = s.Send(everybody)
	}
	if err == nil {
		_, err = s.Recv()
	}
	if err == nil {
		err = s.CloseSend()
	}
	if err == nil {
		_, err = client.FetchClientStatus(ctx, everybody)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func recordResourceErrors(t *testing.T) string {
	var impl implementation
	for _, i := range implementations() {
		if i.name == "grpc-core" {
			impl = i
		}
	}
	impl.need(t)
	t.Setenv("GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING", "true")
	backend, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_SERVING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	other, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	m := emptyMesh(xdstest.Self())
	m.cluster("greeter", 1)
	m.route("routes", "greeter")
	m.apiListener(t, service, "routes")
	at := func(addr string) proto.Message {
		m.endpointsAt(t, "greeter", addr)
		return m.endpoints["greeter"]
	}
	wrong := func(typeURL, version, nonce string, code codes.Code, why string) xdstest.Move {
		return xdstest.Say(&discovery.DiscoveryResponse{TypeUrl: typeURL, VersionInfo: version, Nonce: nonce, ResourceErrors: []*discovery.ResourceError{{
			ResourceName: &discovery.ResourceName{Name: "greeter"}, ErrorDetail: &status.Status{Code: int32(code), Message: why},
		}}})
	}
	played := make(chan struct{})
	s := startScript(t, xdstest.Part{
		hear(lds, ""), answer(lds, "1", "listeners-1", m.listeners[service]),
		hear(rds, ""), answer(rds, "1", "routes-1", m.routes["routes"]),
		hear(cds, ""), wrong(cds, "1", "clusters-1", codes.NotFound, "no cluster of this name"), hear(cds, "clusters-1"), pause(time.Second),
		answer(cds, "2", "clusters-2", proto.Clone(m.clusters["greeter"]).(*clusterv3.Cluster)), hear(cds, "clusters-2"),
		hear(eds, ""), answer(eds, "1", "endpoints-1", at(backend.Addr())), hear(eds, "endpoints-1"), pause(time.Second),
		wrong(eds, "2", "endpoints-2", codes.Unavailable, "the registry does not answer"), hear(eds, "endpoints-2"), pause(5 * time.Second),
		answer(eds, "3", "endpoints-3", at(other.Addr())), hear(eds, "endpoints-3"), xdstest.Do(func() { close(played) }),
	})
	p := startProxy(t, s.Addr())
	out, stop := impl.start(t, plainBootstrap(t, p.addr, impl.name), nil, service)
	select {
	case <-played:
	case <-time.After(patience):
		t.Fatal("the play does not come to its end")
	}
	eventually(t, notServing, func() bool { return out.last() == notServing })
	time.Sleep(idle)
	stop()
	time.Sleep(quiet)
	p.stop(t)
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return p.file
}
