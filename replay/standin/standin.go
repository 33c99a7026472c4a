// Package standin puts something into the place of what was masked, where a
// client checks its format: fresh private keys with a certificate that has the
// recorded names, a list of users that nobody can log in as. What has no format
// stays a mask, and is told of.
//
// It reads and writes messages only. It sends nothing, and remembers nothing but
// what it has made, so that equal masks stay equal.
package standin

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay/edit"
)

const (
	MaskHead = "[masked:" // how long masks begin: see docs/secrets.md
	// maskHead64 is how they begin in a field of bytes in JSON.
	maskHead64 = "W21hc2tlZD"
	anyName    = "google.protobuf.Any"
	maxDepth   = 32
	maxPairs   = 4096
	maxTold    = 1000 // notes
)

// Maker makes stand-ins. Equal masks get equal ones, so that what was not
// rotated then is not rotated now. It may be used by several goroutines.
type Maker struct {
	mu     sync.Mutex
	made   map[string]*keyPair // by mask
	issuer *issuer             // nil until it is needed
	told   map[string]bool
}

// keyPair is a certificate and its key, in PEM.
type keyPair struct{ chain, key []byte }

// New returns a Maker that has made nothing.
func New() *Maker { return &Maker{made: map[string]*keyPair{}, told: map[string]bool{}} }

// Renew returns a response with stand-ins in it, and what there is to say of them
// that was not said before. Resources in which nothing is masked keep their bytes.
func (k *Maker) Renew(response []byte, delta bool) ([]byte, []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &renewal{Maker: k}
	out, ok := rewrite(response, resources, func(resource []byte) []byte {
		if !delta {
			return r.any(resource)
		}
		wrapper, ok := rewrite(resource, resources, r.any)
		if !ok {
			return resource
		}
		return wrapper
	})
	if !ok {
		return response, nil
	}
	return out, r.notes
}

// RenewResource is Renew for the value of one resource, which may be in JSON. Then the
// new one is in protobuf, unless there is in it what this program does not know.
func (k *Maker) RenewResource(typeURL string, body []byte) ([]byte, []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &renewal{Maker: k}
	if len(body) > 0 && body[0] == '{' { // in which masks may be in base64
		packed := &anypb.Any{}
		if lenient.JSON(body).Whole(packed, protoregistry.GlobalTypes) != nil { // what is not known is not lost
			if bytes.Contains(body, []byte(MaskHead)) || bytes.Contains(body, []byte(maskHead64)) {
				r.left([]byte(MaskHead), place{resource: "a resource in JSON", path: "some field", of: xds.TypeName(typeURL)})
			}
			return body, r.notes
		}
		typeURL, body = packed.TypeUrl, packed.Value
	}
	of := edit.AppendString(nil, edit.TypeOfAny, typeURL)
	out := r.any(protowire.AppendBytes(protowire.AppendTag(of, edit.ValueOfAny, protowire.BytesType), body))
	return protoscan.Last(out, edit.ValueOfAny), r.notes
}

// resources is the number of a response's resources, and of what a Resource
// wraps.
const resources = 2

// rewrite returns a copy of a message in which change has replaced the bodies
// of field num.
func rewrite(data []byte, num protowire.Number, change func(body []byte) []byte) ([]byte, bool) {
	out := make([]byte, 0, len(data)+64)
	s := protoscan.Of(data)
	for s.Next() {
		body, is := s.Bytes()
		if s.Num != num || !is {
			out = append(out, s.Raw()...)
			continue
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, num, protowire.BytesType), change(body))
	}
	return out, s.Err == ""
}

// renewal is the renewal of one response.
type renewal struct {
	*Maker
	notes []string
}

// note tells something, once.
func (r *renewal) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(r.told) < maxTold && !r.told[text] {
		r.told[text] = true
		r.notes = append(r.notes, text)
	}
}

// any returns an encoded Any with stand-ins in what it holds.
func (r *renewal) any(b []byte) []byte {
	if !bytes.Contains(b, []byte(MaskHead)) {
		return b
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(anyName)
	if err != nil {
		return b
	}
	m := typ.New()
	if unmarshal.Message(b, m.Interface()) != nil || !r.walk(m, place{}, 0) {
		return b
	}
	out, err := proto.Marshal(m.Interface())
	if err != nil {
		return b
	}
	return out
}

// place is where a walk stands.
type place struct {
	resource string // such as LDS "web"; "" outside of any
	name     string // of the innermost thing that has one
	of       string // the type that path begins in
	path     string
}

func (at place) field(f protoreflect.FieldDescriptor, key string) place {
	if at.path != "" {
		at.path += "."
	}
	at.path += string(f.Name())
	if key != "" {
		at.path += "[" + bounded(key) + "]"
	}
	return at
}

// walk puts in stand-ins, and says whether it changed anything.
func (r *renewal) walk(m protoreflect.Message, at place, depth int) (changed bool) {
	if depth > maxDepth {
		return false
	}
	d := m.Descriptor()
	for _, n := range []protoreflect.Name{"name", "cluster_name"} {
		if f := d.Fields().ByName(n); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() && m.Has(f) {
			at.name = m.Get(f).String()
			break
		}
	}
	if at.resource == "" && at.of != "" {
		at.resource = fmt.Sprintf("%s %q", cmp.Or(xds.ByURL("/"+at.of).Short, at.of), bounded(at.name))
	}
	switch d.FullName() {
	case anyName:
		return r.walkAny(m, at, depth)
	case "envoy.extensions.transport_sockets.tls.v3.TlsCertificate", "envoy.api.v2.auth.TlsCertificate":
		changed = r.certificate(m, at)
	case "envoy.extensions.filters.http.basic_auth.v3.BasicAuth", "envoy.extensions.filters.http.basic_auth.v3.BasicAuthPerRoute":
		changed = r.users(m, at)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		value := func(v protoreflect.Value, f, kind protoreflect.FieldDescriptor, key string) {
			switch kind.Kind() {
			case protoreflect.MessageKind, protoreflect.GroupKind:
				changed = r.walk(v.Message(), at.field(f, key), depth+1) || changed
			case protoreflect.StringKind:
				r.left([]byte(v.String()), at.field(f, key))
			case protoreflect.BytesKind:
				r.left(v.Bytes(), at.field(f, key))
			}
		}
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				value(v, f, f.MapValue(), k.String())
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				value(v.List().Get(i), f, f, strconv.Itoa(i))
			}
		default:
			value(v, f, f, "")
		}
		return true
	})
	return changed
}

// left tells of a mask that is sent as it is.
func (r *renewal) left(text []byte, at place) {
	if bytes.Contains(text, []byte(MaskHead)) {
		r.note("%s has a mask in the place of a secret, in %s of %s: it stays, and a client that checks its format rejects it", at.resource, bounded(at.path), at.of)
	}
}

func (r *renewal) walkAny(m protoreflect.Message, at place, depth int) bool {
	fields := m.Descriptor().Fields()
	url, value := fields.ByName("type_url"), fields.ByName("value")
	body := m.Get(value).Bytes()
	if !bytes.Contains(body, []byte(MaskHead)) {
		return false
	}
	at.of, at.path = xds.TypeName(m.Get(url).String()), ""
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(at.of))
	if err != nil {
		at.resource, at.path = cmp.Or(at.resource, "a resource"), "some field"
		r.left(body, at)
		return false
	}
	inner := typ.New()
	if unmarshal.Message(body, inner.Interface()) != nil || !r.walk(inner, at, depth+1) {
		return false
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(inner.Interface())
	if err != nil {
		return false
	}
	m.Set(value, protoreflect.ValueOfBytes(out))
	return true
}

// source is a DataSource in field f of a message, and its inline text.
func source(m protoreflect.Message, f protoreflect.Name) (d protoreflect.Message, text []byte) {
	field := m.Descriptor().Fields().ByName(f)
	if field == nil || !m.Has(field) {
		return nil, nil
	}
	d = m.Get(field).Message()
	d.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch f.Name() {
		case "inline_bytes":
			text = v.Bytes()
		case "inline_string":
			text = []byte(v.String())
		}
		return true
	})
	return d, text
}

// fill puts a text into the DataSource in field f of a message, in the form that
// it had.
func fill(m protoreflect.Message, f protoreflect.Name, text []byte) {
	d := m.Mutable(m.Descriptor().Fields().ByName(f)).Message()
	fields := d.Descriptor().Fields()
	if s := fields.ByName("inline_string"); d.Has(s) {
		d.Set(s, protoreflect.ValueOfString(string(text)))
		return
	}
	d.Set(fields.ByName("inline_bytes"), protoreflect.ValueOfBytes(text))
}

// users puts a list of users, as htpasswd writes it, into the place of a masked
// one: Envoy takes nothing else. Its one user has a password that nobody knows.
func (r *renewal) users(m protoreflect.Message, at place) bool {
	_, mask := source(m, "users")
	if !isMask(mask) {
		return false
	}
	sum := sha1.Sum(mask)
	fill(m, "users", []byte("replay:{SHA}"+base64.StdEncoding.EncodeToString(sum[:])))
	r.note("%s has a mask in the place of a secret, in users of %s: a list of one user, whose password nobody knows, takes its place", at.resource, at.of)
	return true
}

// certificate gives a TlsCertificate with a masked key a fresh pair.
func (r *renewal) certificate(m protoreflect.Message, at place) bool {
	_, mask := source(m, "private_key")
	if !isMask(mask) {
		if _, mask = source(m, "pkcs12"); !isMask(mask) {
			return false
		}
	}
	_, chain := source(m, "certificate_chain")
	pair := r.made[string(mask)]
	if pair == nil {
		var err error
		var said string
		if pair, said, err = r.newPair(chain, at.name); err != nil {
			r.note("the private key of %q in %s is masked, and no fresh one could be made: %v", bounded(at.name), at.resource, err)
			return false
		}
		if len(r.made) < maxPairs {
			r.made[string(mask)] = pair
		}
		r.note("the private key of %q in %s is masked: a fresh one takes its place, with a certificate %s; it is signed by %q, which no recorded validation context trusts", bounded(at.name), at.resource, said, issuerName)
	}
	fill(m, "certificate_chain", pair.chain)
	fill(m, "private_key", pair.key)
	for _, f := range []protoreflect.Name{"password", "pkcs12"} { // which the fresh key does not have
		if d := m.Descriptor().Fields().ByName(f); d != nil {
			m.Clear(d)
		}
	}
	return true
}

// Pair makes a certificate and its key, in PEM, in the place of one of which only the
// name is known.
func (k *Maker) Pair(name string) (chain, key []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pair, _, err := k.newPair(nil, name)
	if err != nil {
		return nil, nil, err
	}
	return pair.chain, pair.key, nil
}

// newPair makes a pair for a recorded chain; said tells of whom it is.
func (k *Maker) newPair(chain []byte, name string) (pair *keyPair, said string, err error) {
	if k.issuer == nil {
		if k.issuer, err = newIssuer(); err != nil {
			return nil, "", err
		}
	}
	return k.issuer.newPair(chain, name)
}

func isMask(b []byte) bool {
	return len(b) >= 2*len(MaskHead) && bytes.HasPrefix(b, []byte(MaskHead)) && b[len(b)-1] == ']'
}

// Made says whether a TlsCertificate is one that a Maker made.
func Made(m protoreflect.Message) bool {
	_, chain := source(m, "certificate_chain")
	block, _ := pem.Decode(chain)
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.Issuer.CommonName == issuerName
}

// bounded cuts a very long text of a peer.
func bounded(s string) string { return clip.Text(s, 200) }
