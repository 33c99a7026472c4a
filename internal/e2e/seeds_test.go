package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"index/suffixarray"
	"net"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	oauth2v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/oauth2/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/bait"
)

// seeds are secrets that no reader of a recording may ever see. Each is found
// by its last word, since a scheme may stay readable.
type seeds struct{ words []string }

func (s *seeds) secret(place string) string {
	word := fmt.Sprintf("seed%02dhunter2", len(s.words))
	s.words = append(s.words, word)
	return place + "-" + word
}

// look is a secret that only its look gives away.
func (s *seeds) look(place, form string) string { return fmt.Sprintf(form, s.secret(place)) }

const (
	webToken   = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwdWJsaWMifQ.%s"
	privateKey = "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"
	withLogin  = "https://somebody:%s@example.com/"
)

// texts are texts with a secret in each that its form gives away.
func (s *seeds) texts(mark string) (texts []string) {
	for _, p := range bait.Texts(mark) {
		if !slices.Contains(s.words, p.Secret[:12]) {
			s.words = append(s.words, p.Secret[:12])
		}
		texts = append(texts, p.Text)
	}
	return texts
}

func (s *seeds) inline(place string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: s.secret(place)}}
}

func wrapped(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// responses are three that carry secrets in many places, the last of them
// compressed on the wire.
func (s *seeds) responses(t *testing.T) []*discovery.DiscoveryResponse {
	t.Helper()
	certificate := func() *tlsv3.TlsCertificate {
		return &tlsv3.TlsCertificate{
			CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "public-chain"}},
			PrivateKey:       s.inline("key"), Password: s.inline("password"),
		}
	}
	tls := &tlsv3.UpstreamTlsContext{Sni: "public-sni", CommonTlsContext: &tlsv3.CommonTlsContext{TlsCertificates: []*tlsv3.TlsCertificate{certificate()}}}
	cluster := &clusterv3.Cluster{
		Name: "public-cluster", AltStatName: s.look("login", withLogin),
		TransportSocket: &corev3.TransportSocket{
			Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wrapped(t, tls)},
		},
		Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
			"x": {Fields: map[string]*structpb.Value{"password": structpb.NewStringValue(s.secret("metadata"))}},
		}},
	}
	oauth := &oauth2v3.OAuth2{Config: &oauth2v3.OAuth2Config{Credentials: &oauth2v3.OAuth2Credentials{ClientId: "public-id"}}}
	basic := &basicauthv3.BasicAuth{Users: s.inline("users")}
	manager := &hcmv3.HttpConnectionManager{StatPrefix: "public-prefix", ServerName: s.look("jwt", webToken), HttpFilters: []*hcmv3.HttpFilter{
		{Name: "oauth", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrapped(t, oauth)}},
		{Name: "basic", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrapped(t, basic)}},
	}}
	listener := &listenerv3.Listener{Name: "public-listener", StatPrefix: s.look("pem", privateKey), FilterChains: []*listenerv3.FilterChain{{
		Filters: []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wrapped(t, manager)}}},
	}}}
	secrets := []*anypb.Any{
		wrapped(t, &tlsv3.Secret{Name: "public-certificate", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: certificate()}}),
		wrapped(t, &tlsv3.Secret{Name: "public-tickets", Type: &tlsv3.Secret_SessionTicketKeys{SessionTicketKeys: &tlsv3.TlsSessionTicketKeys{Keys: []*corev3.DataSource{
			s.inline("ticket"), {Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(s.secret("bytes"))}},
		}}}}),
		wrapped(t, &tlsv3.Secret{Name: "public-generic", Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: s.inline("generic")}}}),
	}
	planted := s.texts("s")
	return []*discovery.DiscoveryResponse{
		{TypeUrl: resource.RouteType, VersionInfo: "1", Nonce: "t", Resources: carriers(t, planted), ControlPlane: &corev3.ControlPlane{Identifier: strings.Join(planted, "\n")}},
		{TypeUrl: resource.ClusterType, VersionInfo: "1", Nonce: "a", Resources: []*anypb.Any{wrapped(t, cluster)}},
		{TypeUrl: resource.ListenerType, VersionInfo: "1", Nonce: "b", Resources: []*anypb.Any{wrapped(t, listener)}},
		{TypeUrl: resource.SecretType, VersionInfo: "1", Nonce: "c", Resources: secrets},
		{TypeUrl: resource.ClusterType, VersionInfo: "2", Nonce: "d", Resources: []*anypb.Any{wrapped(t, cluster)}},
	}
}

// carriers are resources with texts in the fields where secrets are met.
func carriers(t *testing.T, texts []string) (all []*anypb.Any) {
	t.Helper()
	for i, x := range texts {
		name := fmt.Sprintf("r%d?%s", i, x)
		script, err := structpb.NewStruct(map[string]any{"args": []any{"--plain", x, x}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, wrapped(t, &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
			Name: "v", Domains: []string{"*"}, Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"x": script}},
			RequestHeadersToAdd: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-plain", Value: x}}},
			Routes: []*routev3.Route{
				{
					Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: x}},
					Action: &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{PathRewriteSpecifier: &routev3.RedirectAction_PathRedirect{PathRedirect: x}}},
				},
				{
					Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
					Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}},
				},
			},
		}}}))
		others := []proto.Message{
			&clusterv3.Cluster{Name: name, HealthChecks: []*corev3.HealthCheck{{HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{
				HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: x},
			}}}},
			&luav3.Lua{DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: x}}},
			&jwtv3.RemoteJwks{HttpUri: &corev3.HttpUri{Uri: x}},
			&wasmv3.PluginConfig{Configuration: wrapped(t, wrapperspb.Bytes([]byte(x)))},
			&filev3.FileAccessLog{AccessLogFormat: &filev3.FileAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: x}}},
			}}},
		}
		all = append(all, wrapped(t, others[i%len(others)]))
	}
	return all
}

// speaker answers the first request of a stream with responses, and the second
// with an error.
type speaker struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	responses []*discovery.DiscoveryResponse
	err       error
}

func (s speaker) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	for _, r := range s.responses {
		if err := st.Send(r); err != nil {
			return err
		}
	}
	if _, err := st.Recv(); err != nil {
		return err
	}
	return s.err
}

func (s speaker) DeltaAggregatedResources(st discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	first := s.responses[0]
	answer := &discovery.DeltaDiscoveryResponse{TypeUrl: first.TypeUrl, Nonce: "d", ControlPlane: first.ControlPlane}
	for _, r := range first.Resources {
		var route routev3.RouteConfiguration
		if r.UnmarshalTo(&route) == nil {
			answer.Resources = append(answer.Resources, &discovery.Resource{Name: route.Name, Version: "1", Resource: r})
			answer.RemovedResources = append(answer.RemovedResources, route.Name)
		}
	}
	if err := st.Send(answer); err != nil {
		return err
	}
	if _, err := st.Recv(); err != nil {
		return err
	}
	return s.err
}

// serve starts a management server that sends seeds.
func (s *seeds) serve(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, speaker{
		responses: s.responses(t),
		err:       s.failure(t),
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// failure is an error with secrets in its message and in its details.
func (s *seeds) failure(t *testing.T) error {
	t.Helper()
	texts := s.texts("e")
	failure := &rpcstatus.Status{
		Code:    int32(codes.Unavailable),
		Message: "cannot reach " + s.look("status", withLogin) + "\n" + strings.Join(texts[:30], "\n"),
		Details: []*anypb.Any{wrapped(t, &tlsv3.GenericSecret{Secret: s.inline("details")})},
	}
	for _, x := range texts {
		failure.Details = append(failure.Details, wrapped(t, wrapperspb.String(x)))
	}
	return status.ErrorProto(failure)
}

// asks are what a client has to hide.
type asks struct {
	token, key, node, detail string
	texts                    []string
}

func (s *seeds) asks() asks {
	return asks{s.secret("token"), s.secret("api"), s.secret("node"), "refused: " + s.look("detail", webToken), s.texts("c")}
}

// converse plays a client through addr to its end.
func (a asks) converse(ctx context.Context, addr string, options ...grpc.CallOption) error {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+a.token, "x-api-key", a.key)
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx, options...)
	if err != nil {
		return err
	}
	args := &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("--api-key"), structpb.NewStringValue(a.node)}}
	for _, x := range a.texts {
		args.Values = append(args.Values, structpb.NewStringValue(x))
	}
	fields := map[string]*structpb.Value{"args": structpb.NewListValue(args)}
	for _, key := range []string{"token", "pass", "tokenValue", "connectionString", "credential_value", "client-key-data", "x-honeycomb-team"} {
		fields[key] = structpb.NewStringValue(a.node)
	}
	node := &corev3.Node{Id: "public-node", Metadata: &structpb.Struct{Fields: fields}}
	if err := stream.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: resource.ClusterType, ResourceNames: a.texts}); err != nil {
		return err
	}
	for range 5 {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	nack := &discovery.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResponseNonce: "a",
		ErrorDetail: &rpcstatus.Status{Code: 3, Message: a.detail + "\n" + strings.Join(a.texts, "\n")},
	}
	if err := stream.Send(nack); err != nil {
		return err
	}
	if _, err = stream.Recv(); status.Code(err) != codes.Unavailable {
		return fmt.Errorf("the stream ends with: %w", err)
	}
	return a.delta(ctx, conn, node, nack.ErrorDetail, options...)
}

// delta is the same in increments.
func (a asks) delta(ctx context.Context, conn *grpc.ClientConn, node *corev3.Node, refused *rpcstatus.Status, options ...grpc.CallOption) error {
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx, options...)
	if err != nil {
		return err
	}
	versions := map[string]string{}
	for _, x := range a.texts {
		versions[x] = x
	}
	if err := stream.Send(&discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: resource.RouteType, ResourceNamesSubscribe: a.texts, InitialResourceVersions: versions}); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.RouteType, ResponseNonce: "d", ErrorDetail: refused, ResourceNamesUnsubscribe: a.texts}); err != nil {
		return err
	}
	if _, err = stream.Recv(); status.Code(err) != codes.Unavailable {
		return fmt.Errorf("the stream ends with: %w", err)
	}
	return nil
}

// publics are what must stay readable.
func publics() []string {
	return []string{
		"public-chain", "public-sni", "public-cluster", "public-id", "public-prefix", "public-listener",
		"public-certificate", "public-tickets", "public-generic", "public-node", "Bearer", "somebody", "refused",
	}
}

// find returns which seeds a text holds, as they are, in base64 or in
// hexadecimal digits.
func (s *seeds) find(text []byte) (found []string) {
	index := suffixarray.New(text) // a thousand forms are looked for in it
	for _, word := range s.words {
		forms := [][]byte{[]byte(word), []byte(hex.EncodeToString([]byte(word)))}
		for shift := range 3 { // by what comes before it in its base64
			whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + word))
			forms = append(forms, []byte(whole[4*min(shift, 1):len(word)*4/3-3]))
		}
		if slices.ContainsFunc(forms, func(form []byte) bool { return len(index.Lookup(form, 1)) > 0 }) {
			found = append(found, word)
		}
	}
	return found
}

// absent requires that no place holds a seed.
func (s *seeds) absent(t *testing.T, places map[string][]byte) {
	t.Helper()
	for place, text := range places {
		for _, word := range s.find(text) {
			t.Errorf("%s holds the secret %s", place, word)
		}
	}
}

// readable requires that a text holds what is public.
func readable(t *testing.T, place string, text []byte) {
	t.Helper()
	for _, public := range publics() {
		if !bytes.Contains(text, []byte(public)) {
			t.Errorf("%s does not hold %s, which is no secret", place, public)
		}
	}
}
