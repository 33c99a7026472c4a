package mask_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	annotations "github.com/cncf/xds/go/udpa/annotations"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	awsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/aws/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/bait"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// seeder fills messages with texts that are unique: "<S:n>" where a secret
// stands, "<P:n>" where everybody may look.
type seeder struct {
	leads  map[protoreflect.FullName]bool // types and fields that can hold or are a secret
	where  []string                       // path of text n
	budget int                            // texts that may still be planted
	seek   bool                           // go only where secrets can be
}

func (s *seeder) text(secret bool, at string) string {
	s.budget--
	s.where = append(s.where, at)
	if secret {
		return fmt.Sprintf("<S:%08d>", len(s.where)-1)
	}
	return fmt.Sprintf("<P:%08d>", len(s.where)-1)
}

// isSecretField judges a field by its annotation and by its name alone, not by
// what the Masker knows.
func isSecretField(fd protoreflect.FieldDescriptor) bool {
	return proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool) ||
		looksSecret(fd) && holdsTextItself(fd) && reviewed(fd.FullName()) == nil ||
		fd.FullName() == "envoy.config.filter.http.ext_authz.v2.CheckSettings.context_extensions" // marked in version 3
}

// staysPublic are the texts that say where a secret is, or whose.
var staysPublic = regexp.MustCompile(`\.(DataSource\.(filename|environment_variable)|WatchedDirectory\.path|PrivateKeyProvider\.provider_name|api_key_auth\.v3\.Credential\.client)$`)

func (s *seeder) fill(m protoreflect.Message, at string, depth, variant int, secret bool) {
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		inner, _ := anypb.New(&awsv3.InlineCredentialProvider{
			AccessKeyId: s.text(secret, at+"/access_key_id"), SecretAccessKey: s.text(true, at+"/secret_access_key"),
		})
		proto.Merge(m.Interface(), inner)
		return
	case "google.protobuf.Struct":
		s.structure(m, at, secret)
		return
	case "google.protobuf.Value":
		m.Set(m.Descriptor().Fields().ByName("string_value"), protoreflect.ValueOfString(s.text(secret, at)))
		return
	}
	named := s.name(m, at, variant, secret)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && s.choice(o, variant, secret) != fd || m.Has(fd) {
			continue
		}
		hidden := (secret || s.leads[fd.FullName()] || named) && !staysPublic.MatchString(string(fd.FullName()))
		s.field(m, fd, at+"."+string(fd.Name()), depth, variant, hidden)
	}
}

// choice is the field of a oneof that is set.
func (s *seeder) choice(o protoreflect.OneofDescriptor, variant int, secret bool) protoreflect.FieldDescriptor {
	if s.seek {
		var can []protoreflect.FieldDescriptor
		for i := range o.Fields().Len() {
			fd := o.Fields().Get(i)
			isText := fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
			if s.leads[fd.FullName()] || fd.Message() != nil && s.leads[fd.Message().FullName()] || secret && isText && !staysPublic.MatchString(string(fd.FullName())) {
				can = append(can, fd)
			}
		}
		if len(can) > 0 {
			return can[variant%len(can)]
		}
	}
	return o.Fields().Get(variant % o.Fields().Len())
}

// name gives the types whose values are secret or not by their name a secret
// name in every other variant.
func (s *seeder) name(m protoreflect.Message, at string, variant int, secret bool) bool {
	key := m.Descriptor().Fields().ByNumber(1)
	switch m.Descriptor().Name() {
	case "HeaderValue", "KeyValue", "KeyValuePair", "QueryParameter", "HeaderMatcher", "QueryParameterMatcher":
	default:
		return false
	}
	if variant%2 == 0 || secret || key.Kind() != protoreflect.StringKind || key.Name() != "name" && key.Name() != "key" {
		return false
	}
	m.Set(key, protoreflect.ValueOfString([]string{"x-api-key", "authorization", "X-Client-Secret"}[variant/2%3]))
	return true
}

func (s *seeder) structure(m protoreflect.Message, at string, secret bool) {
	fields := m.Mutable(m.Descriptor().Fields().ByName("fields")).Map()
	for _, key := range []string{"plain", "cluster_name", "clientSecret", "PASSWORD", "api-key"} {
		v := fields.Mutable(protoreflect.ValueOfString(key).MapKey()).Message()
		hidden := secret || key != "plain" && key != "cluster_name"
		v.Set(v.Descriptor().Fields().ByName("string_value"), protoreflect.ValueOfString(s.text(hidden, at+"/"+key)))
	}
}

func (s *seeder) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, at string, depth, variant int, secret bool) {
	text := func(secret bool) protoreflect.Value {
		if fd.Kind() == protoreflect.BytesKind {
			return protoreflect.ValueOfBytes([]byte(s.text(secret, at)))
		}
		return protoreflect.ValueOfString(s.text(secret, at))
	}
	isText := fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
	enter := func(sub protoreflect.MessageDescriptor) bool {
		return depth > 0 && s.budget > 0 && (!s.seek || secret || s.leads[sub.FullName()])
	}
	switch {
	case fd.IsMap():
		s.mapField(m, fd, at, depth, variant, secret, enter)
	case fd.Message() != nil && !enter(fd.Message()):
	case fd.IsList() && fd.Message() != nil:
		s.fill(m.Mutable(fd).List().AppendMutable().Message(), at, depth-1, variant, secret)
	case fd.IsList() && isText:
		m.Mutable(fd).List().Append(text(secret))
	case fd.Message() != nil:
		s.fill(m.Mutable(fd).Message(), at, depth-1, variant, secret)
	case isText && !fd.IsList():
		m.Set(fd, text(secret))
	}
}

func (s *seeder) mapField(m protoreflect.Message, fd protoreflect.FieldDescriptor, at string, depth, variant int, secret bool, enter func(protoreflect.MessageDescriptor) bool) {
	if fd.MapKey().Kind() != protoreflect.StringKind {
		return
	}
	mp := m.Mutable(fd).Map()
	plain, token := protoreflect.ValueOfString("plain").MapKey(), protoreflect.ValueOfString("access_token").MapKey()
	switch {
	case fd.MapValue().Message() != nil:
		if enter(fd.MapValue().Message()) {
			s.fill(mp.Mutable(plain).Message(), at, depth-1, variant, secret)
		}
	case fd.MapValue().Kind() == protoreflect.StringKind && isName.MatchString(string(fd.FullName())):
		mp.Set(plain, protoreflect.ValueOfString(s.text(secret, at)))
		mp.Set(token, protoreflect.ValueOfString(s.text(secret, at)))
	case fd.MapValue().Kind() == protoreflect.StringKind:
		mp.Set(plain, protoreflect.ValueOfString(s.text(secret, at)))
		mp.Set(token, protoreflect.ValueOfString(s.text(true, at)))
	case fd.MapValue().Kind() == protoreflect.BytesKind:
		mp.Set(plain, protoreflect.ValueOfBytes([]byte(s.text(secret, at))))
		mp.Set(token, protoreflect.ValueOfBytes([]byte(s.text(true, at))))
	}
}

// isName are the maps whose keys are names of resources or parts of such.
var isName = regexp.MustCompile(`\.(initial_resource_versions|ContextParams\.params)$`)

// leading is the set of types that can hold a secret at any depth.
func leading() map[protoreflect.FullName]bool {
	set := map[protoreflect.FullName]bool{"google.protobuf.Any": true, "google.protobuf.Struct": true}
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		for i := range mt.Descriptor().Fields().Len() {
			if fd := mt.Descriptor().Fields().Get(i); isSecretField(fd) {
				set[fd.FullName()] = true
			}
		}
	})
	for grown := true; grown; {
		grown = false
		handmade.EachMessage(func(mt protoreflect.MessageType) {
			fields := mt.Descriptor().Fields()
			for i := range fields.Len() {
				fd := fields.Get(i)
				sub := fd.Message()
				if fd.IsMap() {
					sub = fd.MapValue().Message()
				}
				if !set[mt.Descriptor().FullName()] && (set[fd.FullName()] || sub != nil && set[sub.FullName()] || mt.Descriptor().Name() == "HeaderValue") {
					set[mt.Descriptor().FullName()], grown = true, true
				}
			}
		})
	}
	return set
}

var seed = regexp.MustCompile(`<[SP]:\d{8}>`)

// check masks a message and looks what is left of the texts in it.
func (s *seeder) check(t *testing.T, what, path string, side session.Side, wire []byte) {
	t.Helper()
	k := mask.New()
	if path != "" {
		k.Transform(&session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: 1, Method: path})
	}
	e := session.Entry{Kind: session.KindMessage, Side: side, Stream: 1, Message: &session.Message{Data: session.Chunks{wire}, Size: int64(len(wire))}}
	maskAll(k, &e)
	got := e.Message.Data.Bytes()
	if len(got) != len(wire) || len(e.Problems) > 0 {
		t.Errorf("%s: %d bytes became %d: %q", what, len(wire), len(got), e.Problems)
	}
	left := make(map[string]bool)
	for _, text := range seed.FindAll(got, -1) {
		left[string(text)] = true
	}
	for _, text := range seed.FindAll(wire, -1) {
		n, _ := strconv.Atoi(string(text[3 : len(text)-1]))
		if text[1] == 'S' && left[string(text)] {
			t.Errorf("%s: the secret at %s is still there", what, s.where[n])
		}
		if strings.Contains(s.where[n], ".local_jwks.inline") {
			continue // what is no JSON is masked there
		}
		if text[1] == 'P' && !left[string(text)] {
			t.Errorf("%s: %s was masked", what, s.where[n])
		}
	}
}

// widest is the size of the largest oneof of a type, at least 2.
func widest(md protoreflect.MessageDescriptor) int {
	n := 2
	for i := range md.Oneofs().Len() {
		n = max(n, md.Oneofs().Get(i).Fields().Len())
	}
	return n
}

// Of every linked type, every field that is sensitive by its annotation or by
// its name is masked wherever the message stands, and nothing else is.
func TestNoSecretSurvives(t *testing.T) {
	leads := leading()
	secrets := make(map[string]bool)
	types := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		md := mt.Descriptor()
		if testing.Short() && !leads[md.FullName()] || md.ParentFile().Path() == "google/protobuf/descriptor.proto" {
			return
		}
		types++
		for variant := range max(widest(md), 6) {
			for _, seek := range []bool{false, true} {
				if seek && !leads[md.FullName()] || !seek && variant >= widest(md) {
					continue
				}
				s := &seeder{leads: leads, seek: seek, budget: 400}
				m, depth := mt.New(), 2
				if seek {
					depth = 7
				}
				s.fill(m, string(md.FullName()), depth, variant, false)
				s.everywhere(t, m.Interface(), variant)
				for i := range s.where {
					secrets[s.where[i]] = true
				}
			}
		}
	})
	if types < 1000 && !testing.Short() {
		t.Errorf("only %d types: are they linked?", types)
	}
	t.Logf("%d types, %d of them can hold a secret, %d places", types, len(leads), len(secrets))
}

// everywhere checks a message in all places where one can stand.
func (s *seeder) everywhere(t *testing.T, m proto.Message, variant int) {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	const deltaPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	sotw := handmade.Marshal(t, &discoveryv3.DiscoveryResponse{VersionInfo: "1", Resources: []*anypb.Any{a}, TypeUrl: a.TypeUrl, Nonce: "n"})
	s.check(t, "response", handmade.ADSPath, session.Server, sotw)
	if variant > 1 {
		return
	}
	s.check(t, "response, headers lost", "", session.Server, sotw)
	s.check(t, "delta response", deltaPath, session.Server, handmade.Marshal(t, &discoveryv3.DeltaDiscoveryResponse{
		Resources: []*discoveryv3.Resource{{Name: "r", Version: "1", Resource: a}}, TypeUrl: a.TypeUrl, Nonce: "n",
	}))
	listener, err := anypb.New(&listenerv3.Listener{Name: "l", FilterChains: []*listenerv3.FilterChain{{
		Filters: []*listenerv3.Filter{{Name: "f", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: a}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, "in a listener", handmade.ADSPath, session.Server, handmade.Marshal(t, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{listener}}))
	deep, err := anypb.New(&corev3.TypedExtensionConfig{Name: "x", TypedConfig: a})
	if err != nil {
		t.Fatal(err)
	}
	unknown := &anypb.Any{TypeUrl: "example.com/a.b.C", Value: handmade.Marshal(t, &corev3.TypedExtensionConfig{Name: "y", TypedConfig: deep})}
	s.check(t, "in a type that is not known", handmade.ADSPath, session.Server, handmade.Marshal(t, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{unknown}}))
	s.check(t, "in a request", handmade.ADSPath, session.Client, handmade.Marshal(t, &discoveryv3.DiscoveryRequest{TypeUrl: a.TypeUrl, ErrorDetail: &status.Status{Message: "no", Details: []*anypb.Any{a}}}))
	s.check(t, "client status", "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus", session.Server, handmade.Marshal(t,
		&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{{GenericXdsConfigs: []*statusv3.ClientConfig_GenericXdsConfig{{XdsConfig: a}}}}}))
}

// The messages of every known method, as they are.
func TestNoSecretSurvivesInAnyMethod(t *testing.T) {
	leads := leading()
	for _, m := range xds.Methods() {
		if decode.FormOf(m, "") == decode.FormJSON {
			continue
		}
		for side, name := range map[session.Side]string{session.Client: m.Request, session.Server: m.Response} {
			mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
			if err != nil {
				t.Fatalf("%s: %v", m.Path, err)
			}
			for variant := range 12 {
				s := &seeder{leads: leads, seek: variant >= 6, budget: 400}
				msg := mt.New()
				s.fill(msg, name, 7, variant, false)
				s.check(t, m.Path, m.Path, side, handmade.Marshal(t, msg.Interface()))
			}
		}
	}
}

// Fields whose names sound secret are masked, or somebody has looked at them.
func TestEveryFieldThatSoundsSecretIsReviewed(t *testing.T) {
	used := make(map[string]bool)
	n := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		fields := mt.Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			if !looksSecret(fd) {
				continue
			}
			n++
			if proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool) {
				continue
			}
			if r := reviewed(fd.FullName()); r != nil {
				used[r.fields] = true
			} else if !holdsTextItself(fd) && holdsText(fd, map[protoreflect.FullName]bool{}) {
				t.Errorf("%s sounds secret: mask it, or say in the list why not", fd.FullName())
			}
		}
	})
	for _, r := range notSecret {
		if !used[r.fields] {
			t.Errorf("%q in the list of what is not secret matches no field", r.fields)
		}
	}
	t.Logf("%d fields sound secret, %d rules say which are not", n, len(notSecret))
}

// What is not typed as a secret but looks like one, wherever there is text: each
// field gets each of the texts.
func TestTextsThatLookSecretAreMasked(t *testing.T) {
	texts := bait.Texts("s")
	n := 0
	handmade.EachMessage(func(mt protoreflect.MessageType) {
		fields := mt.Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			if fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind || fd.IsMap() || mt.Descriptor().FullName() == "google.protobuf.Any" || mt.Descriptor().Name() == "NamePart" {
				continue
			}
			n++
			for _, p := range texts {
				m := mt.New()
				value := protoreflect.ValueOfString(p.Text)
				if fd.Kind() == protoreflect.BytesKind {
					value = protoreflect.ValueOfBytes([]byte(p.Text))
				}
				if fd.IsList() {
					m.Mutable(fd).List().Append(value)
				} else {
					m.Set(fd, value)
				}
				checkGone(t, m.Interface(), p)
			}
		}
	})
	for _, p := range texts {
		for _, m := range carriers(p.Text) {
			checkGone(t, m, p)
		}
	}
	t.Logf("%d fields, %d texts", n, len(texts))
}

// carriers are messages with a text where secrets are met most.
func carriers(text string) []proto.Message {
	value := structpb.NewStringValue(text)
	return []proto.Message{
		&corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}},
		&corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(text)}},
		&corev3.HttpUri{Uri: text},
		&corev3.HealthCheck_HttpHealthCheck{Path: text},
		&corev3.HeaderValue{Key: "x-plain", Value: text},
		&corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}}},
		&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: text}},
		&routev3.RedirectAction{PathRewriteSpecifier: &routev3.RedirectAction_PathRedirect{PathRedirect: text}},
		&corev3.Node{Id: "n", Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"args": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{value, value}})}}},
		&corev3.Node{Id: text, Cluster: text, UserAgentName: text},
		&corev3.ControlPlane{Identifier: text},
		wrapperspb.String(text), wrapperspb.Bytes([]byte(text)), value,
		&status.Status{Message: text},
		&discoveryv3.Resource{Name: text, Version: text, Aliases: []string{text}},
	}
}

// The messages themselves, of both variants of the protocol: names, versions,
// nonces, errors and who answers.
func TestTextsThatLookSecretInTheEnvelope(t *testing.T) {
	const deltaPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	for _, p := range bait.Texts("s") {
		x, plane := p.Text, &corev3.ControlPlane{Identifier: p.Text}
		refused := &status.Status{Code: 3, Message: x}
		for _, c := range []struct {
			path string
			side session.Side
			m    proto.Message
		}{
			{handmade.ADSPath, session.Client, &discoveryv3.DiscoveryRequest{VersionInfo: x, ResourceNames: []string{x, x}, TypeUrl: "t/a", ResponseNonce: x, ErrorDetail: refused}},
			{handmade.ADSPath, session.Server, &discoveryv3.DiscoveryResponse{VersionInfo: x, TypeUrl: "t/a", Nonce: x, ControlPlane: plane, ResourceErrors: []*discoveryv3.ResourceError{
				{ResourceName: &discoveryv3.ResourceName{Name: x}, ErrorDetail: refused},
			}}},
			{deltaPath, session.Client, &discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: "t/a", ResourceNamesSubscribe: []string{x}, ResourceNamesUnsubscribe: []string{x},
				InitialResourceVersions: map[string]string{x: x}, ResponseNonce: x, ErrorDetail: refused,
			}},
			{deltaPath, session.Server, &discoveryv3.DeltaDiscoveryResponse{SystemVersionInfo: x, TypeUrl: "t/a", RemovedResources: []string{x}, Nonce: x, ControlPlane: plane, Resources: []*discoveryv3.Resource{
				{Name: x, Version: x, Aliases: []string{x}, Resource: &anypb.Any{TypeUrl: "example.com/a.b.C", Value: handmade.Marshal(t, &corev3.ControlPlane{Identifier: x})}},
			}}},
		} {
			k, wire := mask.New(), handmade.Marshal(t, c.m)
			k.Transform(&session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: 1, Method: c.path})
			e := session.Entry{Kind: session.KindMessage, Side: c.side, Stream: 1, Message: &session.Message{Data: session.Chunks{wire}}}
			maskAll(k, &e)
			if got := e.Message.Data.Bytes(); p.Holds(string(got)) || len(got) != len(wire) {
				t.Errorf("%T: %q is still there: %q", c.m, p.Secret, got)
			}
		}
	}
}

// A resource has one name wherever it is named, so that it is still known, and
// texts that people need stay in any of these places.
func TestNamesStayEqual(t *testing.T) {
	texts := bait.Harmless()
	for _, p := range bait.Texts("s") {
		texts = append(texts, p.Text)
	}
	for _, x := range texts {
		k := mask.New()
		in := func(m proto.Message) []byte {
			wire := handmade.Marshal(t, m)
			k.Transform(&session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: 1, Method: handmade.ADSPath})
			e := session.Entry{Kind: session.KindMessage, Side: session.Client, Stream: 1, Message: &session.Message{Data: session.Chunks{wire}}}
			maskAll(k, &e)
			return e.Message.Data.Bytes()
		}
		var named discoveryv3.DiscoveryRequest
		if err := proto.Unmarshal(in(&discoveryv3.DiscoveryRequest{TypeUrl: "t/a", ResourceNames: []string{x}}), &named); err != nil {
			t.Fatal(err)
		}
		name := named.ResourceNames[0]
		for _, m := range []proto.Message{
			&discoveryv3.Resource{Name: x}, &clusterv3.Cluster{Name: x}, &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: x}},
		} {
			a, err := anypb.New(m)
			if err != nil {
				t.Fatal(err)
			}
			if got := k.Content(handmade.Marshal(t, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{a}})); !bytes.Contains(got, []byte(name)) {
				t.Errorf("%q is called %q in a request and otherwise in %q", x, name, got)
			}
		}
		got := in(&discoveryv3.DiscoveryRequest{TypeUrl: "t/a", ErrorDetail: &status.Status{Message: "Error adding/updating cluster(s) " + x + ": no such type"}})
		if !bytes.Contains(got, []byte(name)) && !strings.ContainsAny(x, " \"'") {
			t.Errorf("%q is called %q in a request and otherwise in an error: %q", x, name, got)
		}
	}
}

func checkGone(t *testing.T, m proto.Message, p bait.Text) {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	wire := handmade.Marshal(t, &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{a}})
	e := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 1, Message: &session.Message{Data: session.Chunks{wire}}}
	maskAll(mask.New(), &e)
	got := e.Message.Data.Bytes()
	if p.Holds(string(got)) {
		t.Errorf("%s: %q is still there: %q", m.ProtoReflect().Descriptor().FullName(), p.Secret, got)
	}
	var back discoveryv3.DiscoveryResponse
	if err := proto.Unmarshal(got, &back); err != nil {
		t.Errorf("%s: %v", m.ProtoReflect().Descriptor().FullName(), err)
	} else if _, err := back.Resources[0].UnmarshalNew(); err != nil {
		t.Errorf("%s: %v: %q became %q", m.ProtoReflect().Descriptor().FullName(), err, wire, got)
	}
}

// reviewed is the rule that says that a field is not secret, or nil.
func reviewed(name protoreflect.FullName) *review {
	i := slices.IndexFunc(notSecret, func(r review) bool { return r.match(name) })
	if i < 0 {
		return nil
	}
	return &notSecret[i]
}
