package synth

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// manager is the cluster that config sources other than ADS name.
const manager = "xds"

// source is where references are to be resolved.
func (m *maker) source() *corev3.ConfigSource {
	s := &corev3.ConfigSource{ResourceApiVersion: m.version()}
	api := func(t corev3.ApiConfigSource_ApiType) *corev3.ConfigSource_ApiConfigSource {
		c := &corev3.ApiConfigSource{ApiType: t, TransportApiVersion: m.version()}
		if t == corev3.ApiConfigSource_REST {
			c.ClusterNames, c.RefreshDelay = []string{manager}, durationpb.New(time.Second)
		} else {
			c.GrpcServices = []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
				EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: manager},
			}}}
		}
		return &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: c}
	}
	const path = "/etc/xds/resources.yaml"
	switch m.r.Refs.Source {
	case "self":
		s.ConfigSourceSpecifier = &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{TransportApiVersion: m.version()}}
	case "grpc":
		s.ConfigSourceSpecifier = api(corev3.ApiConfigSource_GRPC)
	case "delta-grpc":
		s.ConfigSourceSpecifier = api(corev3.ApiConfigSource_DELTA_GRPC)
	case "rest":
		s.ConfigSourceSpecifier = api(corev3.ApiConfigSource_REST)
	case "path":
		if m.v2 {
			//lint:ignore SA1019 version 2 has no other
			s.ConfigSourceSpecifier = &corev3.ConfigSource_Path{Path: path}
			break
		}
		s.ConfigSourceSpecifier = &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{Path: path}}
	default:
		s.ConfigSourceSpecifier = &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}
	}
	return s
}

// version is the API version that config sources ask for. Those of version 2
// leave it open.
func (m *maker) version() corev3.ApiVersion {
	if m.v2 {
		return 0
	}
	return corev3.ApiVersion_V3
}

// tls names the secrets of a transport socket.
func (m *maker) tls() *tlsv3.CommonTlsContext {
	c := &tlsv3.CommonTlsContext{}
	for _, name := range m.r.Refs.Secrets {
		c.TlsCertificateSdsSecretConfigs = append(c.TlsCertificateSdsSecretConfigs,
			&tlsv3.SdsSecretConfig{Name: name, SdsConfig: m.source()})
	}
	return c
}

const tlsSocket = "envoy.transport_sockets.tls"

func (m *maker) downstreamTLS() *corev3.TransportSocket {
	if len(m.r.Refs.Secrets) == 0 {
		return nil
	}
	return &corev3.TransportSocket{Name: tlsSocket, ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: m.any(&tlsv3.DownstreamTlsContext{CommonTlsContext: m.tls()}),
	}}
}

func (m *maker) upstreamTLS() *corev3.TransportSocket {
	if len(m.r.Refs.Secrets) == 0 {
		return nil
	}
	return &corev3.TransportSocket{Name: tlsSocket, ConfigType: &corev3.TransportSocket_TypedConfig{
		TypedConfig: m.any(&tlsv3.UpstreamTlsContext{CommonTlsContext: m.tls()}),
	}}
}

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

// noPort is above what a port can be.
const noPort = 70_000
