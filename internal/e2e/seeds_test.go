package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	oauth2v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/oauth2/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
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
	return []*discovery.DiscoveryResponse{
		{TypeUrl: resource.ClusterType, VersionInfo: "1", Nonce: "a", Resources: []*anypb.Any{wrapped(t, cluster)}},
		{TypeUrl: resource.ListenerType, VersionInfo: "1", Nonce: "b", Resources: []*anypb.Any{wrapped(t, listener)}},
		{TypeUrl: resource.SecretType, VersionInfo: "1", Nonce: "c", Resources: secrets},
		{TypeUrl: resource.ClusterType, VersionInfo: "2", Nonce: "d", Resources: []*anypb.Any{wrapped(t, cluster)}},
	}
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
		err:       status.Error(codes.Unavailable, "cannot reach "+s.look("status", withLogin)),
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// asks are what a client has to hide.
type asks struct{ token, key, node, detail string }

func (s *seeds) asks() asks {
	return asks{s.secret("token"), s.secret("api"), s.secret("node"), "refused: " + s.look("detail", webToken)}
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
	node := &corev3.Node{Id: "public-node", Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
		"token": structpb.NewStringValue(a.node),
	}}}
	if err := stream.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: resource.ClusterType}); err != nil {
		return err
	}
	for range 4 {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	nack := &discovery.DiscoveryRequest{
		TypeUrl: resource.ClusterType, ResponseNonce: "a",
		ErrorDetail: &rpcstatus.Status{Code: 3, Message: a.detail},
	}
	if err := stream.Send(nack); err != nil {
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
	for _, word := range s.words {
		forms := [][]byte{[]byte(word), []byte(hex.EncodeToString([]byte(word)))}
		for shift := range 3 { // by what comes before it in its base64
			whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + word))
			forms = append(forms, []byte(whole[4*min(shift, 1):len(word)*4/3-3]))
		}
		if slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(text, form) }) {
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
