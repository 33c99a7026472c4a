package standin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/decode/mask"
)

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// secret makes a certificate for two names, with a key of its own.
func secret(t *testing.T, password string) *tlsv3.TlsCertificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "payments"}, DNSNames: []string{"payments.example"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "example", Path: "/payments"}}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	inline := func(kind string, b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{
			InlineString: string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})),
		}}
	}
	c := &tlsv3.TlsCertificate{CertificateChain: inline("CERTIFICATE", der), PrivateKey: inline("PRIVATE KEY", private)}
	if password != "" {
		c.Password = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: password}}
	}
	return c
}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// loads requires that a certificate and its key belong together, and returns it.
func loads(t *testing.T, c *tlsv3.TlsCertificate) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(c.GetCertificateChain().GetInlineString()), []byte(c.GetPrivateKey().GetInlineString()))
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// A masked key is replaced, wherever it is, and the certificate with it; the
// same mask by the same key.
func TestRenew(t *testing.T) {
	one := secret(t, "open sesame, says the thief")
	masked := MaskedResource(mask.New(), secretType, encoded(t, &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: one}}))
	if !bytes.Contains(masked, []byte(MaskHead)) {
		t.Fatal("nothing is masked")
	}
	context, err := anypb.New(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{TlsCertificates: []*tlsv3.TlsCertificate{secret(t, "")}}})
	if err != nil {
		t.Fatal(err)
	}
	const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	cluster := MaskedResource(mask.New(), clusterType, encoded(t, &clusterv3.Cluster{Name: "c", TransportSocket: &corev3.TransportSocket{
		Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: context},
	}}))
	plain := &anypb.Any{TypeUrl: clusterType, Value: []byte("\x0a\x01x\xfa\x7f\x01y")} // with a field that nobody knows
	response := encoded(t, &discovery.DiscoveryResponse{Nonce: "n", Resources: []*anypb.Any{
		{TypeUrl: secretType, Value: masked}, {TypeUrl: clusterType, Value: cluster}, plain, {TypeUrl: secretType, Value: masked},
	}})
	out, notes := New().Renew(response, false)
	var m discovery.DiscoveryResponse
	if err := proto.Unmarshal(out, &m); err != nil || len(m.GetResources()) != 4 || bytes.Contains(out, []byte(MaskHead)) {
		t.Fatalf("%v, %d resources", err, len(m.GetResources()))
	}
	if said := strings.Join(notes, "\n"); len(notes) != 2 || !strings.Contains(said, "payments.example, spiffe://example/payments") {
		t.Errorf("notes: %q", notes)
	}
	var fresh tlsv3.Secret
	if err := m.GetResources()[0].UnmarshalTo(&fresh); err != nil {
		t.Fatal(err)
	}
	leaf := loads(t, fresh.GetTlsCertificate())
	if leaf.Subject.CommonName != "payments" || len(leaf.DNSNames) != 1 || len(leaf.URIs) != 1 || leaf.Issuer.CommonName != "xdsproxy replay" {
		t.Errorf("%+v", leaf)
	}
	if key, is := leaf.PublicKey.(*ecdsa.PublicKey); !is || key.Curve != elliptic.P384() {
		t.Errorf("a key %T", leaf.PublicKey)
	}
	if fresh.GetTlsCertificate().GetPassword() != nil {
		t.Error("it still has the password of the old key")
	}
	if !bytes.Equal(m.GetResources()[0].GetValue(), m.GetResources()[3].GetValue()) {
		t.Error("the same secret is another one the second time")
	}
	if !bytes.Equal(m.GetResources()[2].GetValue(), plain.GetValue()) {
		t.Errorf("a resource without secrets was changed: %x", m.GetResources()[2].GetValue())
	}
	var inner clusterv3.Cluster
	var tlsContext tlsv3.UpstreamTlsContext
	if err := m.GetResources()[1].UnmarshalTo(&inner); err != nil {
		t.Fatal(err)
	}
	if err := inner.GetTransportSocket().GetTypedConfig().UnmarshalTo(&tlsContext); err != nil {
		t.Fatal(err)
	}
	loads(t, tlsContext.GetCommonTlsContext().GetTlsCertificates()[0])
}

// A resource of a poll is in JSON, where masks of bytes are in base64.
func TestRenewJSON(t *testing.T) {
	one := secret(t, "")
	one.PrivateKey = &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(one.GetPrivateKey().GetInlineString())}}
	masked := MaskedResource(mask.New(), secretType, encoded(t, &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: one}}))
	text, err := protojson.Marshal(&anypb.Any{TypeUrl: secretType, Value: masked})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(MaskHead)) || !bytes.Contains(text, []byte(maskHead64)) {
		t.Fatalf("the mask is not in base64: %s", text)
	}
	body, notes := New().RenewResource(secretType, text)
	var fresh tlsv3.Secret
	if err := proto.Unmarshal(body, &fresh); err != nil || len(notes) != 1 {
		t.Fatalf("%v, %q", err, notes)
	}
	pair := fresh.GetTlsCertificate()
	if _, err := tls.X509KeyPair([]byte(pair.GetCertificateChain().GetInlineString()), pair.GetPrivateKey().GetInlineBytes()); err != nil {
		t.Error(err)
	}
	unknown := bytes.Replace(text, []byte(`"name"`), []byte(`"of a newer API":1,"name"`), 1)
	if body, notes := New().RenewResource(secretType, unknown); !bytes.Equal(body, unknown) || len(notes) != 1 || !strings.Contains(notes[0], "it stays") {
		t.Errorf("%s, %q", body, notes)
	}
}

// Secrets of a live server are compared by their place, and all else as it is.
func TestLikeRecorded(t *testing.T) {
	make := func(name string) []byte {
		c := secret(t, "sesame")
		c.CertificateChain = &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: "/etc/cert"}}
		return encoded(t, &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: c}})
	}
	in := inspect.New(nil)
	same := func(a, b []byte) bool {
		return in.Inspect(secretType, a, true).Hash == in.Inspect(secretType, b, true).Hash
	}
	recorded, live, other := MaskedResource(mask.New(), secretType, make("s")), make("s"), make("another")
	if same(recorded, live) {
		t.Fatal("nothing is masked")
	}
	if !same(recorded, LikeRecorded(secretType, recorded, live)) {
		t.Error("another key in the same place is a difference")
	}
	if same(recorded, LikeRecorded(secretType, recorded, other)) {
		t.Error("another name is none")
	}
}

// The same where a secret is further within, and in JSON, as a poll brings it. What is no secret has to be the same.
func TestLikeRecordedWithin(t *testing.T) {
	const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	tlsContext := func(certificates ...*tlsv3.TlsCertificate) *anypb.Any {
		a, err := anypb.New(&tlsv3.UpstreamTlsContext{Sni: "payments.example", CommonTlsContext: &tlsv3.CommonTlsContext{TlsCertificates: certificates}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	key := func() *tlsv3.TlsCertificate {
		c := secret(t, "")
		c.CertificateChain = &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: "/etc/cert"}}
		return c
	}
	socket := func(a *anypb.Any) *clusterv3.Cluster {
		return &clusterv3.Cluster{Name: "c", TransportSocket: &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: a}}}
	}
	inMap := func(a *anypb.Any) *clusterv3.Cluster {
		return &clusterv3.Cluster{Name: "c", TypedExtensionProtocolOptions: map[string]*anypb.Any{"tls": a}}
	}
	inJSON := func(b []byte) []byte {
		text, err := protojson.Marshal(&anypb.Any{TypeUrl: clusterType, Value: b})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	in := inspect.New(nil)
	hash := func(b []byte) [16]byte { return in.Inspect(clusterType, b, true).Hash }
	for _, c := range []struct {
		name           string
		recorded, live *clusterv3.Cluster
		want           bool
	}{
		{"another key", socket(tlsContext(key())), socket(tlsContext(key())), true},
		{"two other keys", socket(tlsContext(key(), key())), socket(tlsContext(key(), key())), true},
		{"one key more", socket(tlsContext(key())), socket(tlsContext(key(), key())), false},
		{"another key in a map", inMap(tlsContext(key())), inMap(tlsContext(key())), true},
		{"a map without it", &clusterv3.Cluster{Name: "c"}, inMap(tlsContext(key())), false},
		{"elsewhere", socket(tlsContext(key())), inMap(tlsContext(key())), false},
		{"another name", socket(tlsContext(key())), &clusterv3.Cluster{Name: "d", TransportSocket: socket(tlsContext(key())).GetTransportSocket()}, false},
	} {
		recorded, live := MaskedResource(mask.New(), clusterType, encoded(t, c.recorded)), encoded(t, c.live)
		if got := hash(LikeRecorded(clusterType, recorded, live)) == hash(recorded); got != c.want {
			t.Errorf("%s: like the recorded one: %v", c.name, got)
		}
		old, text := inJSON(recorded), inJSON(live)
		if got := LikeRecorded(clusterType, old, text); bytes.Equal(got, old) != c.want || !c.want && !bytes.Equal(got, text) {
			t.Errorf("%s: like the recorded one, in JSON: %v, %s", c.name, !c.want, got)
		}
	}
	live := encoded(t, socket(tlsContext(key())))
	for name, got := range map[string][]byte{
		"of an unknown type": LikeRecorded("type.googleapis.com/no.such.Type", live, live), "beside no message": LikeRecorded(clusterType, []byte{0xff}, live),
		"of no secrets": LikeRecorded(clusterType, encoded(t, &clusterv3.Cluster{Name: "c"}), live),
	} {
		if !bytes.Equal(got, live) {
			t.Errorf("%s: it is another one", name)
		}
	}
}

// A certificate that a replay made for a masked key counts as the recorded one.
func TestLikeRecordedMade(t *testing.T) {
	masked := MaskedResource(mask.New(), secretType, encoded(t, &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: secret(t, "")}}))
	text, err := protojson.Marshal(&anypb.Any{TypeUrl: secretType, Value: masked})
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := New().RenewResource(secretType, text)
	in := inspect.New(nil)
	if in.Inspect(secretType, LikeRecorded(secretType, masked, fresh), true).Hash != in.Inspect(secretType, masked, true).Hash {
		t.Error("it differs")
	}
}

// Whatever bytes a response has, renewing it ends.
func FuzzRenew(f *testing.F) {
	f.Add([]byte{0x12, 0xff}, false)
	f.Add([]byte("\x12\x08\x0a\x03a.b\x12\x01x"), true)
	f.Fuzz(func(t *testing.T, data []byte, delta bool) { New().Renew(data, delta) })
}
