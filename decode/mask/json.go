package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/session"
)

// json masks the secrets of a JSON body in place and gives the entry the
// result.
func (k *Masker) json(e *session.Entry, data []byte) {
	w := k.walker(true)
	j := jsonMasker{w: &w, b: data}
	if !j.document() {
		// Up to j.i everything was looked at.
		k.replace(e, data[:j.i], "its end cannot be read and may hold secrets: it was cut off")
		return
	}
	if !w.found() {
		join(e, data)
		return
	}
	k.replace(e, data, "")
}

// JSON masks the secrets of a JSON text in place, such as that of an Envoy's
// config_dump. Of a text that is no JSON it returns false: then not all of it was
// looked at.
func (k *Masker) JSON(text []byte) bool {
	w := k.walker(true)
	j := jsonMasker{w: &w, b: text}
	return j.document()
}

// json masks the secrets of a text in place if it is JSON; otherwise it returns
// false.
func (w *walker) json(b []byte) bool {
	text := b
	if !w.write {
		text = bytes.Clone(b)
	}
	inner := walker{masks: w.masks, write: true, nested: w.nested}
	j := jsonMasker{w: &inner, b: text, nested: true}
	ok := j.document()
	w.masked += inner.masked
	return ok
}

// jsonMasker walks over a JSON text without building it. Below a key that
// names something secret every string is masked, except under the keys that
// only say where a secret is kept. It writes to its text.
type jsonMasker struct {
	w      *walker
	b      []byte
	i      int // everything before was read, and masked where it had to be
	nested bool
	jwk    bool // in a key: its secret members are masked, and nothing else
	header bool // the next object is a header: what names it stays
}

// document reads the text, which may be several documents one after the other.
func (j *jsonMasker) document() bool {
	for {
		if _, ok := j.value(false, "", 0); !ok {
			return false
		}
		if j.space() == 0 {
			return j.i == len(j.b)
		}
	}
}

// maxJSONDepth bounds the nesting that is followed.
const maxJSONDepth = 1000

func (j *jsonMasker) space() byte {
	for j.i < len(j.b) {
		switch c := j.b[j.i]; c {
		case ' ', '\t', '\r', '\n':
			j.i++
		default:
			return c
		}
	}
	return 0
}

// value reads one value; key is the one it stands under. It returns how deep
// the value is nested, or false if it is not JSON.
func (j *jsonMasker) value(secret bool, key string, depth int) (height int, ok bool) {
	if depth > maxJSONDepth {
		return 0, false
	}
	switch c := j.space(); {
	case c == '{':
		return j.object(secret, depth)
	case c == '[':
		j.i++
		flag := false // the string before is a flag which says that this value is secret
		for first := true; ; first = false {
			switch c := j.space(); {
			case c == ']':
				j.i++
				return height + 1, true
			case first:
			case c != ',':
				return 0, false
			default:
				j.i++
			}
			hidden := secret || flag
			if flag = false; j.space() == '"' {
				raw, _ := j.text()
				flag = secrets.IsFlag(raw)
			}
			h, ok := j.value(hidden, key, depth+1)
			if !ok {
				return 0, false
			}
			height = max(height, h)
		}
	case c == '"':
		raw, end := j.text()
		if raw == nil {
			return 0, false
		}
		if secret && !isPlace(key) {
			j.hide(raw, key)
		} else if !j.jwk {
			j.plain(raw)
		}
		j.i = end
		return 0, true
	case c == '-', c >= '0' && c <= '9', c >= 'a' && c <= 'z':
		start := j.i
		for j.i < len(j.b) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzE", j.b[j.i]) >= 0 {
			j.i++
		}
		if secret && c < 'a' && !isPlace(key) {
			j.hideNumber(j.b[start:j.i])
		}
		return 0, true
	}
	return 0, false
}

func (j *jsonMasker) object(secret bool, depth int) (height int, ok bool) {
	start, header := j.i, j.header
	j.i++
	j.header = false
	named, valued, jwk := false, false, false
	for first := true; ; first = false {
		c := j.space()
		if c == '}' {
			j.i++
			break
		}
		if !first {
			if c != ',' {
				return 0, false
			}
			j.i++
			c = j.space()
		}
		if c != '"' {
			return 0, false
		}
		raw, end := j.text()
		if raw == nil {
			return 0, false
		}
		plain := unquote(raw)
		key := secrets.Canonical(plain)
		j.plain(raw)
		j.i = end
		if j.space() != ':' {
			return 0, false
		}
		j.i++
		naming := key == "key" || key == "name"
		hidden := secret && key != "sdsconfig" && !(header && naming) || j.hides(plain, key)
		switch {
		case naming && j.space() == '"':
			name, _ := j.text()
			named = named || secrets.IsKey([]byte(unquote(name)))
		case key == "kty":
			jwk = true
		case strings.HasSuffix(key, "value"), strings.HasSuffix(key, "match"):
			valued = true
		}
		h, ok := j.value(hidden, key, depth+1)
		if !ok {
			return 0, false
		}
		height = max(height, h)
	}
	// What came before the name of a header, or before the type of a key, is
	// known only now. Both are flat, so nothing is read often.
	if height <= 3 && !secret && !j.jwk {
		end := j.i
		if named && valued {
			j.i, j.header = start, true
			j.object(true, depth)
		} else if jwk {
			j.i, j.jwk = start, true
			j.object(false, depth)
			j.jwk = false
		}
		j.i = end
	}
	return height + 1, true
}

// hides says whether what stands under a key is secret.
func (j *jsonMasker) hides(plain, key string) bool {
	if j.jwk {
		switch key {
		case "k", "d", "p", "q", "dp", "dq", "qi", "oth":
			return true
		}
		return false
	}
	switch key {
	case "privatekeyprovider", "sessionticketkeys", "genericsecret", "googlerefreshtoken", "contextextensions", "secretdata", "authusername":
		return true
	}
	return secrets.IsKey([]byte(plain)) && !isReference(key)
}

func (j *jsonMasker) hideNumber(b []byte) {
	for p, c := range b {
		if c >= '0' && c <= '9' && c != '1' {
			b[p] = '1'
			j.w.masked++
		}
	}
}

// plain masks what looks like a secret in a string that is not known to be one.
func (j *jsonMasker) plain(raw []byte) {
	text := unquote(raw)
	b := []byte(text)
	probe := walker{masks: j.w.masks, write: true, full: secrets.In(b), nested: j.w.nested + 1}
	if j.nested {
		probe.text(b)
	} else {
		probe.loose(b)
	}
	if !probe.found() {
		return
	}
	j.w.masked++
	if text == string(raw) {
		copy(raw, b)
		return
	}
	// With escapes in between, places in the text are not those in the source, though
	// both may be as long: bytes that are no UTF-8 are longer in the text.
	j.w.masks.fill(raw, []byte(text))
}

// text finds the string that begins at i: its raw bytes without the quotes,
// and where it ends. It returns nil if there is no end.
func (j *jsonMasker) text() ([]byte, int) {
	start := j.i + 1
	for p := start; p < len(j.b); p++ {
		switch j.b[p] {
		case '\\':
			p++
		case '"':
			return j.b[start:p:p], p + 1
		}
	}
	return nil, 0
}

func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &s) != nil {
		return string(raw)
	}
	return s
}

// hide masks a string. Bytes in base64 are masked as bytes, so that the text
// is still base64 and the mask is that of the same bytes in protobuf.
func (j *jsonMasker) hide(raw []byte, key string) {
	if len(raw) == 0 || j.w.masks.is(raw) || secrets.IsCommand(raw) {
		return
	}
	if key == "inlinebytes" {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			plain, err := enc.Strict().DecodeString(string(raw))
			if err == nil && enc.EncodedLen(len(plain)) == len(raw) {
				if !j.w.masks.is(plain) {
					j.w.masked++
					j.w.masks.fill(plain, plain)
					enc.Encode(raw, plain)
				}
				return
			}
		}
	}
	j.w.masked++
	j.w.masks.fill(raw, []byte(unquote(raw)))
}

// isReference says whether a key that sounds secret only stands around others
// that say what is.
func isReference(key string) bool {
	switch key {
	case "cookienames", "staticsecrets", "dynamicactivesecrets", "dynamicwarmingsecrets", "callcredentials", "channelcredentials", "sslcredentials":
		return true
	}
	return false
}

func isPlace(key string) bool {
	switch key {
	case "@type", "name", "filename", "environmentvariable", "providername", "path", "client":
		return true
	}
	return false
}
