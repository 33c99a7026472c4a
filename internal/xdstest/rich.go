package xdstest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TLSCluster is a cluster as found in the field: HTTP/2 options, health checks,
// limits, metadata, and TLS with a certificate that is asked for by name.
func TLSCluster(name, secret string, source *corev3.ConfigSource) *clusterv3.Cluster {
	options := packed(&httpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{MaxConcurrentStreams: wrapUint32(100)},
				},
			},
		},
	})
	tls := packed(&tlsv3.UpstreamTlsContext{
		Sni: name + ".example.com",
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams:                      &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3},
			AlpnProtocols:                  []string{"h2"},
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: secret, SdsConfig: source}},
		},
	})
	labels := must(structpb.NewStruct(map[string]any{"team": "checkout", "canary": false, "revision": 7}))

	c := Cluster(name, source)
	c.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options,
	}
	c.TransportSocket = &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: tls},
	}
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout:            durationpb.New(time.Second),
		Interval:           durationpb.New(10 * time.Second),
		UnhealthyThreshold: wrapUint32(3),
		HealthyThreshold:   wrapUint32(2),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{
			Path:             "/healthz",
			ExpectedStatuses: []*typev3.Int64Range{{Start: 200, End: 300}},
		}},
	}}
	c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: wrapUint32(1024),
		MaxRequests:    wrapUint32(4096),
	}}}
	c.Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"com.example.labels": labels}}
	return c
}

// FakeSecret is a certificate with a private key, neither of which is one: the
// text between the PEM lines says in base64 that it is a fake. Proxies cannot
// tell and must treat it as the real thing.
func FakeSecret(name string, rotation int) *tlsv3.Secret {
	fake := func(what string) string {
		return strings.Repeat(fmt.Sprintf("fake %s of %s no.%d; ", what, name, rotation), 8)
	}
	return &tlsv3.Secret{
		Name: name,
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(pemLike("CERTIFICATE", fake("certificate"))),
			PrivateKey:       inline(pemLike("PRIVATE KEY", fake("key"))),
		}},
	}
}

func pemLike(kind, text string) string {
	return "-----BEGIN " + kind + "-----\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n-----END " + kind + "-----\n"
}

func inline(s string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: s}}
}

func wrapUint32(n uint32) *wrapperspb.UInt32Value { return wrapperspb.UInt32(n) }
