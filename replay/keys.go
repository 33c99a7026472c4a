package replay

import (
	"bytes"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const (
	maskHead = "[masked:" // how long masks begin: see docs/secrets.md
	anyName  = "google.protobuf.Any"
	maxDepth = 32
	maxPairs = 4096
)

// keys replaces masked private keys by fresh ones, each with a certificate that
// has the names of the recorded one. Equal masks are equal keys, so that what
// was not rotated then is not rotated now. It may be used by several goroutines.
type keys struct {
	mu     sync.Mutex
	made   map[string]*keyPair // by mask
	issuer *issuer             // nil until it is needed
}

// keyPair is a certificate and its key, in PEM.
type keyPair struct{ chain, key []byte }

func newKeys() *keys { return &keys{made: map[string]*keyPair{}} }

// Renewer returns what puts fresh keys in the place of masked ones, equal ones for
// equal masks.
func Renewer() func(response []byte, delta bool) (renewed []byte, notes []string) {
	return newKeys().renew
}

// renew returns a response with fresh keys in it, and what there is to say of
// that. Resources without a masked key keep their bytes.
func (k *keys) renew(response []byte, delta bool) ([]byte, []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &renewal{keys: k}
	out, ok := rewrite(response, resourcesOfResponse, func(resource []byte) []byte {
		if !delta {
			return r.any(resource)
		}
		wrapper, ok := rewrite(resource, resourceOfWrapper, r.any)
		if !ok {
			return resource
		}
		return wrapper
	})
	if !ok {
		return response, nil
	}
	if bytes.Contains(out, []byte(maskHead)) {
		r.note("a secret that is no private key of a certificate was masked: its mask is sent, which a client may reject")
	}
	return out, r.notes
}

// renewal is the renewal of one response.
type renewal struct {
	keys  *keys
	notes []string
}

func (r *renewal) note(format string, args ...any) {
	if len(r.notes) < 16 {
		r.notes = append(r.notes, fmt.Sprintf(format, args...))
	}
}

// any returns an encoded Any with fresh keys in what it holds.
func (r *renewal) any(b []byte) []byte {
	if !bytes.Contains(b, []byte(maskHead)) {
		return b
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(anyName)
	if err != nil {
		return b
	}
	m := typ.New()
	if proto.Unmarshal(b, m.Interface()) != nil || !r.walk(m, "", 0) {
		return b
	}
	out, err := proto.Marshal(m.Interface())
	if err != nil {
		return b
	}
	return out
}

// walk looks for certificates in a message and says whether it changed any.
// name is what the resource around it is called.
func (r *renewal) walk(m protoreflect.Message, name string, depth int) (changed bool) {
	if depth > maxDepth {
		return false
	}
	d := m.Descriptor()
	if f := d.Fields().ByName("name"); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() && m.Has(f) {
		name = m.Get(f).String()
	}
	switch d.FullName() {
	case anyName:
		return r.walkAny(m, name, depth)
	case "envoy.extensions.transport_sockets.tls.v3.TlsCertificate", "envoy.api.v2.auth.TlsCertificate":
		return r.certificate(m, name)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					changed = r.walk(v.Message(), name, depth+1) || changed
					return true
				})
			}
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				changed = r.walk(v.List().Get(i).Message(), name, depth+1) || changed
			}
		default:
			changed = r.walk(v.Message(), name, depth+1) || changed
		}
		return true
	})
	return changed
}

func (r *renewal) walkAny(m protoreflect.Message, name string, depth int) bool {
	fields := m.Descriptor().Fields()
	url, value := fields.ByName("type_url"), fields.ByName("value")
	body := m.Get(value).Bytes()
	if !bytes.Contains(body, []byte(maskHead)) {
		return false
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(xds.TypeName(m.Get(url).String())))
	if err != nil {
		return false
	}
	inner := typ.New()
	if proto.Unmarshal(body, inner.Interface()) != nil || !r.walk(inner, name, depth+1) {
		return false
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(inner.Interface())
	if err != nil {
		return false
	}
	m.Set(value, protoreflect.ValueOfBytes(out))
	return true
}

// certificate gives a TlsCertificate with a masked key a fresh pair.
func (r *renewal) certificate(m protoreflect.Message, name string) bool {
	fields := m.Descriptor().Fields()
	get := func(f string) (source protoreflect.Message, text []byte) {
		d := fields.ByName(protoreflect.Name(f))
		if d == nil || !m.Has(d) {
			return nil, nil
		}
		source = m.Get(d).Message()
		source.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch f.Name() {
			case "inline_bytes":
				text = v.Bytes()
			case "inline_string":
				text = []byte(v.String())
			}
			return true
		})
		return source, text
	}
	_, mask := get("private_key")
	if !isMask(mask) {
		if _, mask = get("pkcs12"); !isMask(mask) {
			return false
		}
	}
	_, chain := get("certificate_chain")
	pair := r.keys.made[string(mask)]
	if pair == nil {
		var err error
		var said string
		if r.keys.issuer == nil {
			r.keys.issuer, err = newIssuer()
		}
		if err == nil {
			pair, said, err = r.keys.issuer.newPair(chain, name)
		}
		if err != nil {
			r.note("the private key of %q is masked, and no fresh one could be made: %v", bounded(name), err)
			return false
		}
		if len(r.keys.made) < maxPairs {
			r.keys.made[string(mask)] = pair
		}
		r.note("the private key of %q is masked: a fresh one is sent, with a certificate %s; it is signed by %q, which no recorded validation context trusts", bounded(name), said, issuerName)
	}
	set := func(f string, text []byte) {
		source := m.Mutable(fields.ByName(protoreflect.Name(f))).Message()
		inline := source.Descriptor().Fields().ByName("inline_bytes")
		source.Set(inline, protoreflect.ValueOfBytes(text))
	}
	set("certificate_chain", pair.chain)
	set("private_key", pair.key)
	for _, f := range []string{"password", "pkcs12"} { // which the fresh key does not have
		if d := fields.ByName(protoreflect.Name(f)); d != nil {
			m.Clear(d)
		}
	}
	return true
}

func isMask(b []byte) bool {
	return len(b) >= 2*len(maskHead) && bytes.HasPrefix(b, []byte(maskHead)) && b[len(b)-1] == ']'
}
