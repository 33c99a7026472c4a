package mask

import (
	"bytes"
	"encoding/binary"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// walker finds the secrets of protobuf messages and masks them in place.
// It goes over the bytes without unmarshalling them, and only where the table
// of shapes says that something can be found.
type walker struct {
	masks  *masks
	shapes map[string]*shape

	write bool // false: only count, leave the bytes alone
	full  bool // some text looks like a secret: look at all text
	sds   bool // a resource that does not say its type is a Secret

	nested int // texts inside of others that are being looked at
	masked int // texts masked
	opaque int // messages masked as a whole because they could not be read
}

// maxMaskDepth bounds the nesting that is followed; what is deeper is masked
// as a whole.
const maxMaskDepth = 64

func (w *walker) found() bool { return w.masked > 0 || w.opaque > 0 }

// envelope masks a sequence of fields of a discovery response. Field 2 is a
// resource in each of them; of the others, sh says what they are, or nil that
// they have been looked at.
func (w *walker) envelope(b []byte, sh *shape) {
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		switch {
		case ok && s.Num == 2 && (w.sds || !protoscan.IsText(body) || protoscan.Whole(body)): // text is no Any
			w.resource(body)
		case sh != nil:
			w.field(sh, s, false, 0)
		}
	}
	if s.Err != "" {
		w.text(b[s.Off:])
	}
}

// resource masks an Any, or a Resource with an Any in it, whichever b is.
func (w *walker) resource(b []byte) {
	if w.typeOf(b) == nil && decode.HoldsAny(b) {
		w.message(b, w.shapes[xds.ResourceV3], false, 0)
		return
	}
	w.any(b, false, 0)
}

// typeOf is the shape that an Any names, or nil.
func (w *walker) typeOf(b []byte) *shape {
	url := protoscan.Last(b, 1)
	return w.shapes[string(url[bytes.LastIndexByte(url, '/')+1:])]
}

// any masks an Any.
func (w *walker) any(b []byte, secret bool, depth int) {
	sh := w.typeOf(b)
	sds := w.sds
	if sh != nil && sh.name != xds.ResourceV3 && sh.name != xds.ResourceV2 {
		w.sds = false // inside a resource each Any is on its own
	}
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		switch {
		case !ok:
		case s.Num == 1:
			if sh == nil {
				w.text(body) // it may be no Any after all
			}
		case s.Num == 2 && sh != nil && sh.name == anyShape:
			w.any(body, secret, depth+1)
		case s.Num == 2 && sh != nil:
			w.message(body, sh, secret, depth+1)
		case s.Num == 2 && sds:
			w.untyped(xds.TypeName(string(protoscan.Last(b, 1))), body, depth+1)
		case secret:
			w.whole(body)
		default:
			w.sweep(body, depth+1)
		}
	}
	w.rest(s, secret || sds || sh != nil && sh.reaches() || namesType(b[s.Off:]))
	w.sds = sds
}

// untyped masks a resource of a stream of secrets that does not name a type
// that is known.
func (w *walker) untyped(name string, b []byte, depth int) {
	switch {
	case name == "":
		w.message(b, w.shapes[xds.ByShort("SDS").V3], false, depth)
	case strings.HasPrefix(name, "envoy."):
		w.sweep(b, depth) // another type, here by mistake
	default:
		w.whole(b)
	}
}

// message masks a message of a known type. In secret, all text is secret that
// the table does not call public. If what may hold secrets cannot be read to
// its end, the end is masked, and all of it where secrets are certain.
func (w *walker) message(b []byte, sh *shape, secret bool, depth int) {
	if sh.name == anyShape {
		w.any(b, secret, depth)
		return
	}
	if sh.named != 0 && !secret {
		if key := protoscan.Last(b, sh.named); secrets.IsKey(key) {
			if sh.header {
				w.header(b, sh)
				return
			}
			secret = true
		}
	}
	if depth > maxMaskDepth || (secret || sh.strict) && !flat(b) {
		w.whole(b)
		return
	}
	beside := !secret && sh.name == "google.protobuf.Struct" && namesSecret(b)
	flag := false // the value before is a flag which says that this one is secret
	s := protoscan.Of(b)
	for s.Next() {
		body, _ := s.Bytes()
		hidden := secret || flag || beside && bytes.HasSuffix(protoscan.Last(body, 1), []byte("value"))
		flag = sh.name == "google.protobuf.ListValue" && secrets.IsFlag(protoscan.Last(body, 3))
		w.field(sh, s, hidden, depth)
	}
	w.rest(s, true)
}

// namesSecret says whether a Struct is a pair of a name that says that it is
// secret, and its value, as in the environment of a container.
func namesSecret(b []byte) bool {
	for s := protoscan.Of(b); s.Next(); {
		entry, _ := s.Bytes()
		if key := protoscan.Last(entry, 1); string(key) == "name" || string(key) == "key" {
			return secrets.IsKey(protoscan.Last(protoscan.Last(entry, 2), 3))
		}
	}
	return false
}

// field masks the field that s stands at.
func (w *walker) field(sh *shape, s *protoscan.Scanner, secret bool, depth int) {
	body, ok := s.Bytes()
	f := sh.field(s.Num)
	switch {
	case !ok:
		w.scalar(f, s, secret || sh.strict, depth)
	case f == nil && (secret || sh.strict):
		w.whole(body)
	case f == nil:
		w.sweep(body, depth+1)
	case f.kind == '-':
	case secret && s.Num == sh.named:
		w.text(body)
	case f.kind == '.', f.kind == '!':
		if f.sub != nil {
			w.message(body, f.sub, f.kind == '!', depth+1)
		} else if f.kind == '!' {
			w.Secret(body)
		} else {
			w.text(body)
		}
	case f.kind == 'j' && !secret:
		w.keySets(body, f.sub)
	case f.sub != nil:
		if secret || w.full || f.kind != ':' {
			w.message(body, f.sub, secret, depth+1)
		}
	case secret:
		w.Secret(body)
	case f.kind == 't':
		w.loose(body)
	default:
		w.text(body)
	}
}

// scalar masks a field that is not length-delimited.
func (w *walker) scalar(f *shapeField, s *protoscan.Scanner, secret bool, depth int) {
	switch s.Type {
	case protowire.Fixed64Type:
		number := s.Raw()[len(s.Raw())-8:]
		if secret && f != nil && f.kind == '#' && binary.LittleEndian.Uint64(number) != 0 {
			w.masked++
			if w.write {
				clear(number)
			}
		}
	case protowire.StartGroupType: // in no type that is linked
		w.sweep(s.Group(), depth+1)
	}
}

// header masks the value of a header field that holds a credential. Its scheme
// stays, and so does a value that is put in when a request passes.
func (w *walker) header(b []byte, sh *shape) {
	if !flat(b) {
		w.whole(b)
		return
	}
	for s := protoscan.Of(b); s.Next(); {
		if body, ok := s.Bytes(); ok && s.Num != sh.named {
			body = body[len(secrets.Scheme(string(body))):]
			if !secrets.IsCommand(body) {
				w.Secret(body)
			}
		}
	}
}

// keySets masks the secret keys in a data source of JSON web keys. Text that
// is no JSON is masked as a whole.
func (w *walker) keySets(b []byte, source *shape) {
	s := protoscan.Of(b)
	for s.Next() {
		body, ok := s.Bytes()
		if !ok {
			continue
		}
		if f := source.field(s.Num); f != nil && f.kind == 't' {
			if !w.json(body) {
				w.Secret(body)
			}
			continue
		}
		w.field(source, s, false, 0)
	}
	w.rest(s, true)
}

// sweep looks for secrets in bytes of which nothing is known: text that looks
// like one, and any Any of a type that is known.
func (w *walker) sweep(b []byte, depth int) {
	if !w.full && !namesType(b) {
		return
	}
	if depth > maxMaskDepth {
		w.whole(b)
		return
	}
	if protoscan.IsText(b) && !protoscan.Whole(b) {
		w.text(b)
		return
	}
	if bytes.IndexByte(protoscan.Last(b, 1), '/') >= 0 && w.typeOf(b) != nil { // an extension may be called as a type is
		w.any(b, false, depth+1)
		return
	}
	before := w.masked + w.opaque
	s := protoscan.Of(b)
	for s.Next() {
		if body, ok := s.Bytes(); ok {
			w.sweep(body, depth+1)
		} else {
			w.scalar(nil, s, false, depth)
		}
	}
	w.rest(s, namesType(b[s.Off:]))
	// A text may have been taken for a message. Few messages have no control
	// character, and these begin with one: the tag of a field with a low number.
	if w.full && len(b) > 0 && b[0] > ' ' && protoscan.IsText(b) && (w.write || w.masked+w.opaque == before) {
		w.text(b)
	}
}

// rest masks what a scan could not read.
func (w *walker) rest(s *protoscan.Scanner, reaches bool) {
	if s.Err == "" {
		return
	}
	if reaches {
		w.whole(s.Rest())
	} else {
		w.text(s.Rest())
	}
}

// Secret masks b, unless it says what will be put in its place.
func (w *walker) Secret(b []byte) {
	if len(b) > 0 && !w.masks.is(b) && !secrets.IsCommand(b) {
		w.masked++
		if w.write {
			w.masks.fill(b, b)
		}
	}
}

func (w *walker) whole(b []byte) {
	if len(b) > 0 && !w.masks.is(b) {
		w.opaque++
		if w.write {
			w.masks.cover(b)
		}
	}
}

// reaches says whether the table lets a walk find anything in the type.
func (sh *shape) reaches() bool {
	for i := range sh.fields {
		switch sh.fields[i].kind {
		case '!', '>', 't', 'j', '#':
			return true
		}
	}
	return sh.strict || sh.named != 0 || sh.name == anyShape
}

// namesType says whether the bytes may hold the type URL of a linked type.
func namesType(b []byte) bool {
	for off := 0; ; {
		i := bytes.IndexByte(b[off:], '/')
		if i < 0 {
			return false
		}
		off += i + 1
		for _, root := range []string{"envoy.", "google.", "xds.", "udpa."} {
			if len(b)-off >= len(root) && string(b[off:off+len(root)]) == root {
				return true
			}
		}
	}
}

// flat says whether b is a sequence of whole fields and has no groups, which
// are in none of the linked types and could hold anything.
func flat(b []byte) bool {
	s := protoscan.Of(b)
	for s.Next() {
		if s.Type == protowire.StartGroupType {
			return false
		}
	}
	return s.Err == ""
}
