package mask_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	annotations "github.com/cncf/xds/go/udpa/annotations"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// plant fills every string and bytes field with a text that says where it
// stands, "<path>", sensitive fields being marked by a "!".
func plant(m protoreflect.Message, at string, depth, variant int) {
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		return
	}
	fields := m.Descriptor().Fields()
	inner := variant
	if m.Descriptor().Oneofs().Len() > 0 {
		inner /= 4 // so that each choice meets every choice further in
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(variant%o.Fields().Len()) != fd {
			continue
		}
		path := at + "." + string(fd.Name())
		if proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool) {
			path += "!"
		}
		text := func(k protoreflect.Kind) protoreflect.Value {
			if k == protoreflect.BytesKind {
				return protoreflect.ValueOfBytes([]byte("<" + path + ">"))
			}
			return protoreflect.ValueOfString("<" + path + ">")
		}
		isText := fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
		switch {
		case fd.Message() != nil && depth <= 0:
		case fd.IsMap():
			mp := m.Mutable(fd).Map()
			key := protoreflect.ValueOfString("key").MapKey()
			if fd.MapValue().Message() != nil {
				plant(mp.Mutable(key).Message(), path, depth-1, inner)
			} else if fd.MapValue().Kind() == protoreflect.StringKind {
				mp.Set(key, text(protoreflect.StringKind))
			}
		case fd.IsList() && fd.Message() != nil:
			plant(m.Mutable(fd).List().AppendMutable().Message(), path, depth-1, inner)
		case fd.IsList() && isText:
			m.Mutable(fd).List().Append(text(fd.Kind()))
		case fd.Message() != nil:
			plant(m.Mutable(fd).Message(), path, depth-1, inner)
		case isText && !fd.IsList():
			m.Set(fd, text(fd.Kind()))
		}
	}
}

// mask does to an entry what a recorder does.
func maskAll(k *mask.Masker, e *session.Entry) {
	k.Transform(e)
	var data session.Chunks
	for _, chunk := range e.Message.Data {
		if len(chunk) >= 48 {
			chunk = k.Content(chunk)
		}
		data = append(data, chunk)
	}
	m := *e.Message
	m.Data = data
	e.Message = &m
}

var planted = regexp.MustCompile(`<[^<>]*>`)

// public are the parts of a Secret that stay readable.
var public = regexp.MustCompile(`^<\.name>$|^<\.validation_context\.|\.(certificate_chain|ocsp_staple|signed_certificate_timestamp|tls_params)!?\.|\.(filename|environment_variable|watched_directory\.path|provider_name)>$`)

// The Masker keeps what is public, and nothing else, of every field that a
// Secret has in either version, whether or not it is marked as sensitive.
func TestMaskerKnowsEveryFieldOfASecret(t *testing.T) {
	for _, name := range []string{"envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.api.v2.auth.Secret"} {
		mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		all, kept := map[string]bool{}, map[string]bool{}
		for variant := range 64 {
			msg := mt.New()
			plant(msg, "", 6, variant)
			a, err := anypb.New(msg.Interface())
			if err != nil {
				t.Fatal(err)
			}
			wire := handmade.Marshal(t, &discoveryv3.DiscoveryResponse{TypeUrl: a.TypeUrl, Resources: []*anypb.Any{a}})
			e := session.Entry{
				Kind: session.KindMessage, Side: session.Server, Stream: 1,
				Message: &session.Message{Data: session.Chunks{wire}, Size: int64(len(wire))},
			}
			maskAll(mask.New(), &e)
			for _, p := range planted.FindAllString(string(wire), -1) {
				all[p] = true
			}
			got := e.Message.Data.Bytes()
			for _, p := range planted.FindAllString(string(got), -1) {
				kept[p] = true
			}
			var back discoveryv3.DiscoveryResponse
			if err := proto.Unmarshal(got, &back); err != nil {
				t.Errorf("%s, variant %d: %v", name, variant, err)
			} else if err := back.Resources[0].UnmarshalTo(mt.New().Interface()); err != nil {
				t.Errorf("%s, variant %d: %v", name, variant, err)
			}
			if len(e.Problems) > 0 {
				t.Errorf("%s, variant %d: %q", name, variant, e.Problems)
			}
		}
		for p := range all {
			if kept[p] != public.MatchString(p) {
				t.Errorf("%s: %s: kept %v", name, p, kept[p])
			}
		}
		for _, want := range []string{"private_key!.inline_bytes", "password!.inline_string", "keys!.inline_bytes", "secret!.inline_string"} {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(p string) bool { return strings.Contains(p, want) }) {
				t.Errorf("%s: %s was never planted", name, want)
			}
		}
	}
}

// The configuration of a private key provider is masked inside its Any, so
// that it still reads as what it is.
func TestMaskerKnowsPrivateKeyProviders(t *testing.T) {
	n := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		name := string(mt.Descriptor().FullName())
		if !strings.HasPrefix(name, "envoy.extensions.private_key_providers.") || strings.Count(name, ".") > 5 {
			return
		}
		n++
		for variant := range 4 {
			msg := mt.New()
			plant(msg, "", 3, variant)
			a, err := anypb.New(msg.Interface())
			if err != nil {
				t.Fatal(err)
			}
			secretType, err := protoregistry.GlobalTypes.FindMessageByName("envoy.extensions.transport_sockets.tls.v3.Secret")
			if err != nil {
				t.Fatal(err)
			}
			secret := secretType.New()
			cert := secret.Mutable(secret.Descriptor().Fields().ByName("tls_certificate")).Message()
			provider := cert.Mutable(cert.Descriptor().Fields().ByName("private_key_provider")).Message()
			provider.Set(provider.Descriptor().Fields().ByName("typed_config"), protoreflect.ValueOfMessage(a.ProtoReflect()))
			outer, err := anypb.New(secret.Interface())
			if err != nil {
				t.Fatal(err)
			}
			wire := handmade.Marshal(t, &discoveryv3.DiscoveryResponse{TypeUrl: outer.TypeUrl, Resources: []*anypb.Any{outer}})
			e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{wire}, Size: int64(len(wire))}}
			maskAll(mask.New(), &e)
			doc := decode.Decode(xds.LookupMethod(handmade.ADSPath), session.Server, "", e.Message.Data.Bytes())
			text := string(doc.Compact())
			if strings.Contains(text, "inline_string>") || len(doc.Problems) > 0 || len(e.Problems) > 0 {
				t.Errorf("%s: %s %q %q", name, text, doc.Problems, e.Problems)
			}
		}
	})
	if n != 3 {
		t.Errorf("%d kinds of private key providers, want 3: review the list of the Masker", n)
	}
}
