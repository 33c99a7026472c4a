package standin

import (
	"crypto/tls"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const someMask = MaskHead + "0123456789]"

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Each message within another counts for the depth, in whatever field it is.
func TestDepthWithin(t *testing.T) {
	inSecret := func(c *tlsv3.TlsCertificate) *tlsv3.Secret {
		return &tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: c}}
	}
	for _, c := range []struct {
		name   string
		within func(c *tlsv3.TlsCertificate) proto.Message
		levels int // of the certificate below the message
	}{
		{"in a field", func(c *tlsv3.TlsCertificate) proto.Message { return inSecret(c) }, 1},
		{"in a list", func(c *tlsv3.TlsCertificate) proto.Message {
			return &tlsv3.CommonTlsContext{TlsCertificates: []*tlsv3.TlsCertificate{c}}
		}, 1},
		{"in an Any", func(c *tlsv3.TlsCertificate) proto.Message { return packed(t, inSecret(c)) }, 2},
		{"in a map", func(c *tlsv3.TlsCertificate) proto.Message {
			return &clusterv3.Cluster{Name: "c", TypedExtensionProtocolOptions: map[string]*anypb.Any{"x": packed(t, inSecret(c))}}
		}, 3},
	} {
		pair := maskedKey(someMask)
		if r := (&renewal{Maker: New()}); !r.walk(pair.ProtoReflect(), place{}, 0) {
			t.Fatal("it is not replaced")
		}
		for more, want := range []bool{true, false} {
			depth := maxDepth - c.levels + more
			masked := c.within(maskedKey(someMask))
			if r := (&renewal{Maker: New()}); r.walk(masked.ProtoReflect(), place{}, depth) != want || proto.Equal(masked, c.within(maskedKey(someMask))) == want {
				t.Errorf("%s, %d below the bound: it is replaced: %v", c.name, more, !want)
			}
			old, now := c.within(maskedKey(someMask)), c.within(proto.CloneOf(pair))
			if alike(old.ProtoReflect(), now.ProtoReflect(), now.ProtoReflect(), depth) != want || proto.Equal(old, now) != want {
				t.Errorf("%s, %d below the bound: what was made is alike: %v", c.name, more, !want)
			}
		}
	}
}

// What is told of a mask says in which resource it is, and where.
func TestPlacesOfMasks(t *testing.T) {
	inline := &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: someMask}}
	const secretName, contextType = "envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	const stays = ": it stays, and a client that checks its format rejects it"
	for name, c := range map[string]struct {
		resource proto.Message
		want     string // what is told, or how that begins
	}{
		"in a field": {
			&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inline}}},
			`SDS "s" has a mask in the place of a secret, in generic_secret.secret.inline_string of ` + secretName + stays,
		},
		"in a list": {
			&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_SessionTicketKeys{SessionTicketKeys: &tlsv3.TlsSessionTicketKeys{Keys: []*corev3.DataSource{{}, inline}}}},
			`SDS "s" has a mask in the place of a secret, in session_ticket_keys.keys[1].inline_string of ` + secretName + stays,
		},
		"without a name": {
			&tlsv3.Secret{Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: inline}}},
			`SDS "" has a mask in the place of a secret, in generic_secret.secret.inline_string of ` + secretName + stays,
		},
		"within": {
			&clusterv3.Cluster{Name: "c", TypedExtensionProtocolOptions: map[string]*anypb.Any{"x": packed(t, &tlsv3.UpstreamTlsContext{Sni: someMask})}},
			`CDS "c" has a mask in the place of a secret, in sni of ` + contextType + stays,
		},
		"of a type without a short name": {
			&tlsv3.UpstreamTlsContext{Sni: someMask},
			contextType + ` "" has a mask in the place of a secret, in sni of ` + contextType + stays,
		},
		"a key": {
			&tlsv3.Secret{Name: "s", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: maskedKey(someMask)}},
			`the private key of "s" in SDS "s" is masked: a fresh one takes its place, `,
		},
	} {
		_, notes := New().RenewResource("type.googleapis.com/"+string(c.resource.ProtoReflect().Descriptor().FullName()), encoded(t, c.resource))
		if len(notes) != 1 || !strings.HasPrefix(notes[0], c.want) {
			t.Errorf("%s: %q, want %q", name, notes, c.want)
		}
	}
}

func TestIsMask(t *testing.T) {
	rest := strings.Repeat("x", len(MaskHead)-1)
	for text, want := range map[string]bool{
		MaskHead + rest + "]": true, MaskHead + rest[1:] + "]": false, MaskHead + rest + "x": false, "x" + MaskHead + rest + "]": false, "": false, MaskHead: false,
	} {
		if got := isMask([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A resource without any bytes is none with masks.
func TestNoBytes(t *testing.T) {
	if out, notes := New().RenewResource(secretType, nil); len(out) != 0 || notes != nil {
		t.Errorf("%x, %q", out, notes)
	}
	recorded := encoded(t, &tlsv3.Secret{Name: "s"})
	if got := LikeRecorded(secretType, recorded, nil); len(got) != 0 {
		t.Errorf("%x", got)
	}
}

// A pair for a name alone belongs together, and is one of ours.
func TestPair(t *testing.T) {
	chain, key, err := New().Pair("payments.example")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	c := &tlsv3.TlsCertificate{CertificateChain: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: chain}}}
	if name := pair.Leaf.Subject.CommonName; name != "payments.example" || !Made(c.ProtoReflect()) {
		t.Errorf("a pair of %q", name)
	}
}
