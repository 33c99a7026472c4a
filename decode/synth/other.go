package synth

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// secret names files: no key is made up that could be taken for a real one.
func (m *maker) secret() proto.Message {
	dir := "/etc/certs/"
	if m.label != "" {
		dir += m.label + "/"
	}
	file := func(name string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
	}
	chain := file(dir + m.pad() + "cert.pem")
	if m.r.Invalid {
		chain = file("") // must not be empty
	}
	return &tlsv3.Secret{Name: m.name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: chain, PrivateKey: file(dir + "key.pem"),
	}}}
}

func (m *maker) runtime() proto.Message {
	layer := map[string]*structpb.Value{"feature.enabled": structpb.NewBoolValue(true)}
	if m.label != "" {
		layer["content"] = structpb.NewStringValue(m.label)
	}
	if pad := m.pad(); pad != "" {
		layer["padding"] = structpb.NewStringValue(pad)
	}
	return &runtimev3.Runtime{Name: m.name, Layer: &structpb.Struct{Fields: layer}}
}

func (m *maker) extension() proto.Message {
	c := &corev3.TypedExtensionConfig{Name: m.name}
	if !m.r.Invalid { // the configuration is required
		c.TypedConfig = m.any(lua("-- " + m.label + "/" + m.pad()))
	}
	return c
}
