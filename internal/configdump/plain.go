package configdump

import (
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const (
	redacted = "[redacted]"
	maxDepth = 100
)

// Plain decodes two sides of a resource, as it was sent and as Envoy holds it, as
// they can be compared: without what Envoy does to a resource before it dumps it,
// and without what one side masks. It returns why they cannot be compared, if
// so.
func Plain(sent *decode.Resource, held *Resource) (was, is document.Document, why string) {
	if held.Body == nil {
		if why = "Envoy did not dump its content"; len(held.Unread) > 0 {
			why = held.Unread[0]
		}
		return was, is, why
	}
	body := sent.Body
	if len(body) > 0 && body[0] == '{' { // of REST
		var any anypb.Any
		if _, err := lenient.JSON(body).Into(&any, protoregistry.GlobalTypes); err != nil {
			return was, is, err.Message
		}
		body = any.Value
	}
	was = document.Any(sent.TypeURL, plain(held.Type, sent.TypeURL, body))
	is = document.Any(sent.TypeURL, plain(held.Type, sent.TypeURL, held.Body))
	switch held.Type {
	case "EDS":
		if _, by := child(&was.Root, "endpoints", "leds_cluster_locality_config"); by {
			return was, is, "its endpoints come by LEDS, which is not followed"
		}
		samePlaces(&was.Root, &is.Root)
	case "RDS":
		if _, more := was.Root.Get("vhds"); more { // they are in the dump, whoever sent them
			remove(&was.Root, "virtual_hosts")
			remove(&is.Root, "virtual_hosts")
		}
	}
	unmask(&was.Root, &is.Root, held.Type == "SDS", 0)
	return was, is, ""
}

// plain does to a resource what Envoy does to it before it dumps it. It returns the
// resource itself where its type is not known.
func plain(typ, typeURL string, body []byte) []byte {
	m := messageOf(typeURL)
	if m == nil || unmarshal.Message(body, m.Interface()) != nil {
		return body
	}
	if f := m.Descriptor().Fields().ByName("typed_config"); typ == "ECDS" && f != nil && f.Message() != nil && m.Has(f) {
		unwrap(m.Mutable(f).Message())
	}
	redactMessage(m, false, 0)
	out, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		return body
	}
	return out
}

// unwrap puts into an Any what the TypedStruct in it stands for: the configuration of
// an extension is dumped so.
func unwrap(any protoreflect.Message) {
	url, value := opaque(any)
	wrapped := messageOf(any.Get(url).String())
	if wrapped == nil || wrapped.Descriptor().Name() != "TypedStruct" || unmarshal.Message(any.Get(value).Bytes(), wrapped.Interface()) != nil {
		return
	}
	innerURL, of := opaque(wrapped)
	inner := messageOf(wrapped.Get(innerURL).String())
	if inner == nil || !fill(inner, wrapped.Get(of).Message()) {
		return
	}
	if out, err := (proto.MarshalOptions{AllowPartial: true, Deterministic: true}).Marshal(inner.Interface()); err == nil {
		any.Set(url, wrapped.Get(innerURL))
		any.Set(value, protoreflect.ValueOfBytes(out))
	}
}

// fill reads the message that a Struct stands for.
func fill(m, of protoreflect.Message) bool {
	text, err := protojson.Marshal(of.Interface())
	if err != nil {
		return false
	}
	_, fault := lenient.JSON(text).Into(m.Interface(), protoregistry.GlobalTypes)
	return fault == nil
}

func messageOf(typeURL string) protoreflect.Message {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(xds.TypeName(typeURL)))
	if err != nil {
		return nil
	}
	return typ.New()
}

func redactMessage(m protoreflect.Message, within bool, depth int) {
	if depth > maxDepth {
		return
	}
	switch m.Descriptor().FullName() {
	case "google.protobuf.Any":
		url, value := opaque(m)
		if inner := messageOf(m.Get(url).String()); inner != nil && unmarshal.Message(m.Get(value).Bytes(), inner.Interface()) == nil {
			redactMessage(inner, within, depth+1)
			if out, err := (proto.MarshalOptions{AllowPartial: true, Deterministic: true}).Marshal(inner.Interface()); err == nil {
				m.Set(value, protoreflect.ValueOfBytes(out))
			}
		}
		return
	case "xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct":
		url, value := opaque(m)
		if inner := messageOf(m.Get(url).String()); inner != nil && m.Has(value) && reify(m.Mutable(value).Message(), inner, within, depth) {
			return
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		redactField(m, f, v, within || sensitive(f), depth)
		return true
	})
}

func opaque(m protoreflect.Message) (url, value protoreflect.FieldDescriptor) {
	fields := m.Descriptor().Fields()
	return fields.ByName("type_url"), fields.ByName("value")
}

// reify redacts a Struct as the message that it stands for, and writes it back as
// that message is written.
func reify(of, inner protoreflect.Message, within bool, depth int) bool {
	if !fill(inner, of) {
		return false
	}
	redactMessage(inner, within, depth+1)
	text, err := unmarshal.ToJSON(protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}, inner.Interface())
	if err != nil {
		return false
	}
	back := of.New()
	if protojson.Unmarshal(text, back.Interface()) != nil {
		return false
	}
	proto.Reset(of.Interface())
	proto.Merge(of.Interface(), back.Interface())
	return true
}

func redactField(m protoreflect.Message, f protoreflect.FieldDescriptor, v protoreflect.Value, secret bool, depth int) {
	mask := func(f protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
		switch f.Kind() {
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(redacted), true
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes([]byte(redacted)), true
		}
		return f.Default(), false
	}
	switch {
	case f.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, one protoreflect.Value) bool {
			if f.MapValue().Message() != nil {
				redactMessage(one.Message(), secret, depth+1)
			} else if secret {
				masked, _ := mask(f.MapValue())
				v.Map().Set(k, masked)
			}
			return true
		})
	case f.Message() != nil && f.IsList():
		for i := range v.List().Len() {
			redactMessage(v.List().Get(i).Message(), secret, depth+1)
		}
	case f.Message() != nil:
		redactMessage(v.Message(), secret, depth+1)
	case !secret:
	case f.IsList():
		masked, text := mask(f)
		for i := 0; text && i < v.List().Len(); i++ {
			v.List().Set(i, masked)
		}
		if !text {
			m.Clear(f)
		}
	default:
		if masked, text := mask(f); text {
			m.Set(f, masked)
		} else {
			m.Clear(f)
		}
	}
}

// sensitive says whether the API calls a field so.
func sensitive(f protoreflect.FieldDescriptor) bool {
	x, err := protoregistry.GlobalTypes.FindExtensionByName("udpa.annotations.sensitive")
	if err != nil || f.Options() == nil {
		return false
	}
	is, _ := proto.GetExtension(f.Options(), x).(bool)
	return is
}

// unmask puts into both trees the same where one has a mask. Of secrets, it does
// so where one names a file and the other has what stood in it.
func unmask(a, b *document.Tree, secret bool, depth int) {
	switch {
	case depth > maxDepth || a.Kind != b.Kind:
	case a.Kind == document.String:
		if masked(a.Text) || masked(b.Text) {
			a.Text, b.Text = redacted, redacted
		}
	case a.Kind == document.Array && len(a.Items) == len(b.Items):
		for i := range a.Items {
			unmask(&a.Items[i], &b.Items[i], secret, depth+1)
		}
	case a.Kind == document.Object:
		if secret && (outside(a) || outside(b)) {
			*a = document.Tree{Kind: document.String, Text: redacted}
			*b = *a
			return
		}
		for i := range a.Members {
			if other, is := b.Get(a.Members[i].Name); is {
				unmask(&a.Members[i].Value, other, secret, depth+1)
			}
		}
	}
}

// masked says whether a text has a mask of a recording in it, also where it is
// bytes in base64.
func masked(s string) bool {
	return strings.Contains(s, "[masked:") || strings.HasPrefix(s, "W21hc2tlZD")
}

// outside says whether a DataSource names where its data are.
func outside(t *document.Tree) bool {
	for _, m := range t.Members {
		if m.Name == "filename" || m.Name == "environment_variable" {
			return true
		}
	}
	return false
}

func remove(t *document.Tree, name string) {
	for i := range t.Members {
		if t.Members[i].Name == name {
			t.Members = append(t.Members[:i:i], t.Members[i+1:]...)
			return
		}
	}
}

// child finds the first element of a list that has a member.
func child(t *document.Tree, list, name string) (*document.Tree, bool) {
	all, _ := t.Get(list)
	if all == nil {
		return nil, false
	}
	for i := range all.Items {
		if v, is := all.Items[i].Get(name); is {
			return v, true
		}
	}
	return nil, false
}
