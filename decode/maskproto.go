package decode

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// shape says what to do with the fields of one message type. A field that is
// in neither list is not known here, so it may be a secret of a newer API: it
// is masked as a whole.
type shape struct {
	plain  []protowire.Number          // kept as they are
	inside map[protowire.Number]*shape // messages to descend into; maskWhole for what is secret itself
}

// maskWhole stands for a field whose bytes are a secret, maskAny for an Any
// that holds one, maskNumber for a fixed64 that may be one.
var (
	maskWhole  = &shape{}
	maskAny    = &shape{}
	maskNumber = &shape{}
)

// maskedTypes are the shapes by full message name. The field numbers are those
// of versions 2 and 3 alike. Everything that a Secret can hold is listed: what
// stays readable is certificates, names of files and of variables.
var maskedTypes = maskShapes()

func maskShapes() map[string]*shape {
	type in = map[protowire.Number]*shape
	type nums = []protowire.Number
	source := &shape{plain: nums{1, 4, 5}, inside: in{2: maskWhole, 3: maskWhole}}

	value := &shape{plain: nums{1, 4}}
	structure := &shape{inside: in{1: {plain: nums{1}, inside: in{2: value}}}}
	value.inside = in{2: maskNumber, 3: maskWhole, 5: structure, 6: {inside: in{1: value}}}

	provider := &shape{plain: nums{1, 4}, inside: in{2: structure, 3: maskAny}}
	certificate := &shape{plain: nums{1, 4, 5, 7, 9}, inside: in{2: source, 3: source, 6: provider, 8: source}}
	tickets := &shape{inside: in{1: source}}
	generic := &shape{inside: in{1: source, 2: {plain: nums{1}, inside: in{2: source}}}}
	secret := &shape{plain: nums{1, 4}, inside: in{2: certificate, 3: tickets, 5: generic}}

	const contrib = "envoy.extensions.private_key_providers."
	return map[string]*shape{
		"envoy.extensions.transport_sockets.tls.v3.Secret":          secret,
		"envoy.api.v2.auth.Secret":                                  secret,
		"google.protobuf.Struct":                                    structure,
		contrib + "cryptomb.v3alpha.CryptoMbPrivateKeyMethodConfig": {plain: nums{2}, inside: in{1: source}},
		contrib + "qat.v3alpha.QatPrivateKeyMethodConfig":           {plain: nums{2}, inside: in{1: source}},
		contrib + "kae.v3alpha.KaePrivateKeyMethodConfig":           {plain: nums{2, 3}, inside: in{1: source}},
	}
}

func isSecretName(name string) bool {
	return name == "envoy.extensions.transport_sockets.tls.v3.Secret" || name == "envoy.api.v2.auth.Secret"
}

// protoMasker rewrites the secrets of one message in place.
type protoMasker struct {
	mask   func([]byte)
	masked int // leaves masked
	opaque int // messages masked as a whole because they could not be read
}

// maxMaskDepth bounds the nesting that is followed; deeper down everything
// that could be a secret is masked as a whole.
const maxMaskDepth = 64

// response masks a message and returns how much of it may be kept. On a stream
// of secrets, sds, every resource is taken for one unless it names another
// type. With cut, an end that cannot be read is not kept.
func (w *protoMasker) response(m Method, side session.Side, b []byte, sds, cut bool) int {
	kind, sure := kindOf(m, side)
	if !sure {
		kind = sniff(side, b)
	}
	envelope := kind == SotwResponse || kind == DeltaResponse
	if envelope && isSecretName(TypeName(string(lastBytes(b, 4)))) {
		sds = true
	}
	s := scan(b)
	for s.next() {
		body, ok := s.bytes()
		switch {
		case !ok:
		case sds && envelope && s.num == 2 && kind == SotwResponse:
			w.resource(body, 0)
		case sds && envelope && s.num == 2:
			w.wrapper(body, 0)
		default:
			w.sweep(body, 0)
		}
	}
	if s.err != "" && (cut || hasSecretURL(b[s.off:])) {
		return s.off
	}
	return len(b)
}

// resource masks an Any of a stream of secrets.
func (w *protoMasker) resource(b []byte, depth int) {
	url := string(lastBytes(b, 1))
	name := TypeName(url)
	s := scan(b)
	for s.next() {
		body, ok := s.bytes()
		if !ok || s.num == 1 {
			continue
		}
		switch {
		case s.num != 2, depth >= maxMaskDepth:
			w.whole(body)
		case isWrapper(url):
			w.wrapper(body, depth+1)
		case name == "" && hasSecretURL(body): // a Resource where an Any belongs
			w.sweep(body, depth+1)
		case name == "", isSecretName(name):
			w.typed(body, maskedTypes["envoy.api.v2.auth.Secret"], depth+1)
		case bytes.HasPrefix([]byte(name), []byte("envoy.")):
			w.sweep(body, depth+1) // another type, here by mistake
		default:
			w.whole(body)
		}
	}
	w.rest(b, s)
}

// wrapper masks a Resource envelope.
func (w *protoMasker) wrapper(b []byte, depth int) {
	if isSecretName(TypeName(string(lastBytes(b, 1)))) { // an Any where a Resource belongs
		w.resource(b, depth)
		return
	}
	s := scan(b)
	for s.next() {
		if body, ok := s.bytes(); ok && s.num == 2 {
			w.resource(body, depth)
		} else if ok {
			w.sweep(body, depth)
		}
	}
	w.rest(b, s)
}

// rest masks what a scan could not read.
func (w *protoMasker) rest(b []byte, s scanner) {
	if s.err != "" {
		w.whole(b[s.off:])
	}
}

// sweep looks for secrets wherever an Any names one, at any depth, without
// knowing the types on the way there: only fields whose bytes contain such an
// Any are entered.
func (w *protoMasker) sweep(b []byte, depth int) {
	if !hasSecretURL(b) {
		return
	}
	if depth >= maxMaskDepth {
		w.whole(b)
		return
	}
	if isSecretName(TypeName(string(lastBytes(b, 1)))) {
		w.resource(b, depth)
		return
	}
	s := scan(b)
	for s.next() {
		if body, ok := s.bytes(); ok {
			w.sweep(body, depth+1)
		} else if s.typ == protowire.StartGroupType && hasSecretURL(b[s.at:s.off]) {
			w.whole(b[s.at:s.off])
		}
	}
	if s.err != "" && hasSecretURL(b[s.off:]) {
		w.whole(b[s.off:])
	}
}

// typed masks a message of a known shape. If it cannot be read to its end, all
// of it is masked.
func (w *protoMasker) typed(b []byte, sh *shape, depth int) {
	if depth > maxMaskDepth || !readable(b) {
		w.whole(b)
		return
	}
	for s := scan(b); s.next(); {
		body, ok := s.bytes()
		sub := sh.inside[s.num]
		switch {
		case ok && isPlain(sh, s.num):
			w.sweep(body, depth+1)
		case ok && sub == nil, ok && sub == maskWhole, ok && sub == maskNumber:
			w.leaf(body)
		case ok && sub == maskAny:
			w.anyOf(body, depth+1)
		case ok:
			w.typed(body, sub, depth+1)
		case sub == maskNumber && s.typ == protowire.Fixed64Type:
			clear(b[s.off-8 : s.off])
			w.masked++
		case s.typ == protowire.StartGroupType:
			w.whole(b[s.at:s.off])
		}
	}
}

// anyOf masks an Any inside a secret.
func (w *protoMasker) anyOf(b []byte, depth int) {
	if !readable(b) {
		w.whole(b)
		return
	}
	sh := maskedTypes[TypeName(string(lastBytes(b, 1)))]
	for s := scan(b); s.next(); {
		body, ok := s.bytes()
		switch {
		case !ok, s.num == 1:
		case s.num == 2 && sh != nil:
			w.typed(body, sh, depth+1)
		default:
			w.leaf(body)
		}
	}
}

func (w *protoMasker) leaf(b []byte) {
	if len(b) > 0 {
		w.mask(b)
		w.masked++
	}
}

func (w *protoMasker) whole(b []byte) {
	if len(b) > 0 {
		w.mask(b)
		w.opaque++
	}
}

// readable says whether b is a sequence of whole fields.
func readable(b []byte) bool {
	s := scan(b)
	for s.next() {
	}
	return s.err == ""
}

func isPlain(sh *shape, num protowire.Number) bool {
	for _, n := range sh.plain {
		if n == num {
			return true
		}
	}
	return false
}

// lastBytes is the last length-delimited field num of b, or nil.
func lastBytes(b []byte, num protowire.Number) (v []byte) {
	for s := scan(b); s.next(); {
		if body, ok := s.bytes(); ok && s.num == num {
			v = body
		}
	}
	return v
}

// hasSecretURL says whether somewhere in b there is what could be the first
// field of an Any of a secret: tag, length, and a type URL that ends in the
// name of one.
func hasSecretURL(b []byte) bool {
	for off := 0; ; {
		i := bytes.Index(b[off:], secretWord)
		if i < 0 {
			return false
		}
		end := off + i + len(secretWord)
		off = end
		if (bytes.HasSuffix(b[:end], []byte("tls.v3.Secret")) || bytes.HasSuffix(b[:end], []byte("auth.Secret"))) && endsFieldOne(b[:end]) {
			return true
		}
	}
}

// endsFieldOne says whether b ends with a length-delimited field 1 of at most
// 300 bytes.
func endsFieldOne(b []byte) bool {
	const tag = 1<<3 | byte(protowire.BytesType)
	for n := 1; n <= 300 && n+2 <= len(b); n++ {
		head := b[:len(b)-n]
		one := head[len(head)-2] == tag && int(head[len(head)-1]) == n && n < 0x80
		two := len(head) > 2 && head[len(head)-3] == tag && int(head[len(head)-2]&0x7f)|int(head[len(head)-1])<<7 == n && head[len(head)-2] >= 0x80
		if one || two {
			return true
		}
	}
	return false
}
