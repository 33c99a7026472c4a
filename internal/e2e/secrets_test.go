package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
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
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
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
		Name: "public-cluster",
		TransportSocket: &corev3.TransportSocket{
			Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: wrapped(t, tls)},
		},
		Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
			"x": {Fields: map[string]*structpb.Value{"password": structpb.NewStringValue(s.secret("metadata"))}},
		}},
	}
	oauth := &oauth2v3.OAuth2{Config: &oauth2v3.OAuth2Config{Credentials: &oauth2v3.OAuth2Credentials{ClientId: "public-id"}}}
	basic := &basicauthv3.BasicAuth{Users: s.inline("users")}
	manager := &hcmv3.HttpConnectionManager{StatPrefix: "public-prefix", HttpFilters: []*hcmv3.HttpFilter{
		{Name: "oauth", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrapped(t, oauth)}},
		{Name: "basic", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrapped(t, basic)}},
	}}
	listener := &listenerv3.Listener{Name: "public-listener", FilterChains: []*listenerv3.FilterChain{{
		Filters: []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wrapped(t, manager)}}},
	}}}
	secrets := []*anypb.Any{
		wrapped(t, &tlsv3.Secret{Name: "public-certificate", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: certificate()}}),
		wrapped(t, &tlsv3.Secret{Name: "public-tickets", Type: &tlsv3.Secret_SessionTicketKeys{SessionTicketKeys: &tlsv3.TlsSessionTicketKeys{Keys: []*corev3.DataSource{s.inline("ticket")}}}}),
		wrapped(t, &tlsv3.Secret{Name: "public-generic", Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: s.inline("generic")}}}),
	}
	return []*discovery.DiscoveryResponse{
		{TypeUrl: resource.ClusterType, VersionInfo: "1", Nonce: "a", Resources: []*anypb.Any{wrapped(t, cluster)}},
		{TypeUrl: resource.ListenerType, VersionInfo: "1", Nonce: "b", Resources: []*anypb.Any{wrapped(t, listener)}},
		{TypeUrl: resource.SecretType, VersionInfo: "1", Nonce: "c", Resources: secrets},
		{TypeUrl: resource.ClusterType, VersionInfo: "2", Nonce: "d", Resources: []*anypb.Any{wrapped(t, cluster)}},
	}
}

type speaker struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	responses []*discovery.DiscoveryResponse
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
	_, err := st.Recv()
	return err
}

// Whatever secrets pass, in whatever place and compressed or not, none is in
// the file, in what the commands print from it, or in the program's own log.
func TestSecretsNeverAppear(t *testing.T) {
	t.Parallel()
	seeded := &seeds{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, speaker{responses: seeded.responses(t)})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	defer func() { server.Stop(); <-served }()

	for _, compressed := range []bool{false, true} {
		p := startProxy(t, l.Addr().String())
		conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+seeded.secret("token"), "x-api-key", seeded.secret("api"))
		var options []grpc.CallOption
		if compressed { // the server answers in kind
			options = append(options, grpc.UseCompressor(gzip.Name))
		}
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx, options...)
		if err != nil {
			t.Fatal(err)
		}
		node := &corev3.Node{Id: "public-node", Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			"token": structpb.NewStringValue(seeded.secret("node")),
		}}}
		if err := stream.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: resource.ClusterType}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		p.stop(t)
		seeded.search(t, p)
	}
}

// search looks for every seed in all that can be had from a recording.
func (s *seeds) search(t *testing.T, p *proxy) {
	t.Helper()
	raw, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := p.run(t, "show", p.file, "1..", "-o", "yaml")
	places := map[string][]byte{
		"the file": raw, "the decompressed file": plain, "show -o yaml": shown,
		"show -o json":   p.run(t, "show", p.file, "1..", "-o", "json"),
		"watch":          p.run(t, "watch", p.file, "--no-follow"),
		"watch -o jsonl": p.run(t, "watch", p.file, "--no-follow", "-o", "jsonl"),
		"the log":        []byte(p.stderr.String()),
	}
	for place, text := range places {
		for _, word := range s.words {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s holds the secret %s", place, word)
			}
		}
	}
	for _, public := range []string{
		"public-chain", "public-sni", "public-cluster", "public-id", "public-prefix", "public-listener",
		"public-certificate", "public-tickets", "public-generic", "public-node", "Bearer",
	} {
		if !strings.Contains(string(shown), public) {
			t.Errorf("show does not print %s, which is no secret", public)
		}
	}
}
