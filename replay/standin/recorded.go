package standin

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay/edit"
	"github.com/xdsproxy/xdsproxy/session"
)

// LikeRecorded returns a live resource with the recorded masks in the place of
// the secrets that they stand for, as far as both have one there: the mask of a
// secret of another recording tells nothing. A certificate that a replay made
// for a masked key counts as the recorded one. It returns the live resource
// itself if there is nothing to replace.
func LikeRecorded(typeURL string, recorded, live []byte) []byte {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(xds.TypeName(typeURL)))
	if err != nil {
		return live
	}
	old, now, masked := typ.New(), typ.New(), typ.New()
	if len(live) > 0 && live[0] == '{' { // as a poll brings it: like the recorded one, or not
		read := protojson.UnmarshalOptions{DiscardUnknown: true} // "@type"
		if read.Unmarshal(recorded, old.Interface()) != nil || read.Unmarshal(live, now.Interface()) != nil {
			return live
		}
		text, err := proto.Marshal(now.Interface())
		if err == nil && unmarshal.Message(MaskedResource(mask.New(), typeURL, text), masked.Interface()) == nil &&
			alike(old, now, masked, 0) && proto.Equal(old.Interface(), now.Interface()) {
			return recorded
		}
		return live
	}
	if unmarshal.Message(recorded, old.Interface()) != nil || unmarshal.Message(live, now.Interface()) != nil ||
		unmarshal.Message(MaskedResource(mask.New(), typeURL, live), masked.Interface()) != nil {
		return live
	}
	if !alike(old, now, masked, 0) {
		return live
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(now.Interface())
	if err != nil {
		return live
	}
	return out
}

// MaskedResource is a resource as a recording would have it. Secrets are equal if
// they are for k.
func MaskedResource(k *mask.Masker, typeURL string, body []byte) []byte {
	const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	k.Transform(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: path})
	resource := edit.AppendString(nil, 1, typeURL)
	resource = protowire.AppendBytes(protowire.AppendTag(resource, 2, protowire.BytesType), body)
	data := protowire.AppendBytes(protowire.AppendTag(nil, edit.ResourcesOfResponse, protowire.BytesType), resource)
	data = edit.AppendString(data, 4, typeURL)
	e := session.Entry{
		Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Server,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))},
	}
	k.Transform(&e)
	var out session.Chunks
	for _, c := range e.Message.Data {
		out = append(out, k.Content(c))
	}
	m := decode.Peek(xds.LookupMethod(path), session.Server, "", out.Bytes())
	if len(m.Resources) != 1 {
		return body
	}
	return m.Resources[0].Body
}

// alike puts into now what stands in old at the places of secrets, which are
// those where masked differs from now. It says whether there was any.
func alike(old, now, masked protoreflect.Message, depth int) (changed bool) {
	if depth > maxDepth {
		return false
	}
	d := now.Descriptor()
	switch d.FullName() {
	case anyName:
		return alikeAny(old, now, masked, depth)
	case "envoy.extensions.transport_sockets.tls.v3.TlsCertificate", "envoy.api.v2.auth.TlsCertificate":
		if Made(now) {
			proto.Reset(now.Interface())
			proto.Merge(now.Interface(), old.Interface())
			return true
		}
	}
	now.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !old.Has(f) || !masked.Has(f) {
			return true
		}
		o, m := old.Get(f), masked.Get(f)
		switch {
		case f.IsMap():
			isMessage := f.MapValue().Message() != nil
			v.Map().Range(func(k protoreflect.MapKey, v2 protoreflect.Value) bool {
				if !o.Map().Has(k) || !m.Map().Has(k) {
					return true
				}
				o, m := o.Map().Get(k), m.Map().Get(k)
				if isMessage {
					changed = alike(o.Message(), v2.Message(), m.Message(), depth+1) || changed
				} else if !v2.Equal(m) && !v2.Equal(o) {
					v.Map().Set(k, o)
					changed = true
				}
				return true
			})
		case f.IsList():
			if o.List().Len() != v.List().Len() || m.List().Len() != v.List().Len() {
				return true
			}
			for i := range v.List().Len() {
				o, v2, m := o.List().Get(i), v.List().Get(i), m.List().Get(i)
				if f.Message() != nil {
					changed = alike(o.Message(), v2.Message(), m.Message(), depth+1) || changed
				} else if !v2.Equal(m) && !v2.Equal(o) {
					v.List().Set(i, o)
					changed = true
				}
			}
		case f.Message() != nil:
			changed = alike(o.Message(), v.Message(), m.Message(), depth+1) || changed
		case !v.Equal(m) && !v.Equal(o):
			now.Set(f, o)
			changed = true
		}
		return true
	})
	return changed
}

func alikeAny(old, now, masked protoreflect.Message, depth int) bool {
	fields := now.Descriptor().Fields()
	url, value := fields.ByName("type_url"), fields.ByName("value")
	if old.Get(url).String() != now.Get(url).String() {
		return false
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(xds.TypeName(now.Get(url).String())))
	if err != nil {
		return false
	}
	o, n, m := typ.New(), typ.New(), typ.New()
	if unmarshal.Message(old.Get(value).Bytes(), o.Interface()) != nil || unmarshal.Message(now.Get(value).Bytes(), n.Interface()) != nil ||
		unmarshal.Message(masked.Get(value).Bytes(), m.Interface()) != nil || !alike(o, n, m, depth+1) {
		return false
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(n.Interface())
	if err != nil {
		return false
	}
	now.Set(value, protoreflect.ValueOfBytes(out))
	return true
}
