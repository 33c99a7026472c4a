package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// json masks the secrets of a JSON body in place and gives the entry the
// result.
func (k *Masker) json(e *session.Entry, data []byte) {
	j := jsonMasker{k: k, b: data}
	if !j.value(false, "", 0) || !j.atEnd() {
		// Up to j.i everything was looked at.
		k.replace(e, data[:j.i], "its end cannot be read and may hold secrets: it was cut off")
		return
	}
	if j.masked > 0 {
		k.replace(e, data, "")
	}
}

// jsonMasker walks over a JSON text without building it. Below a key that
// names something secret every string is masked, except under the keys that
// only say where a secret is kept.
type jsonMasker struct {
	k      *Masker
	b      []byte
	i      int // everything before was read, and masked where it had to be
	masked int
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

func (j *jsonMasker) atEnd() bool { return j.space() == 0 && j.i == len(j.b) }

// value reads one value; key is the one it stands under. False: not JSON.
func (j *jsonMasker) value(secret bool, key string, depth int) bool {
	if depth > maxJSONDepth {
		return false
	}
	switch c := j.space(); {
	case c == '{':
		return j.object(secret, depth)
	case c == '[':
		j.i++
		for first := true; ; first = false {
			switch c := j.space(); {
			case c == ']':
				j.i++
				return true
			case first:
			case c != ',':
				return false
			default:
				j.i++
			}
			if !j.value(secret, key, depth+1) {
				return false
			}
		}
	case c == '"':
		raw, end := j.text()
		if raw == nil {
			return false
		}
		if secret && !isPlace(key) {
			j.hide(raw, key)
		}
		j.i = end
		return true
	case c == '-', c >= '0' && c <= '9', c >= 'a' && c <= 'z':
		start := j.i
		for j.i < len(j.b) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzE", j.b[j.i]) >= 0 {
			j.i++
		}
		if secret && c < 'a' && !isPlace(key) {
			for p := start; p < j.i; p++ {
				if j.b[p] >= '0' && j.b[p] <= '9' {
					j.b[p] = '1'
				}
			}
			j.masked++
		}
		return true
	}
	return false
}

func (j *jsonMasker) object(secret bool, depth int) bool {
	j.i++
	for first := true; ; first = false {
		c := j.space()
		if c == '}' {
			j.i++
			return true
		}
		if !first {
			if c != ',' {
				return false
			}
			j.i++
			c = j.space()
		}
		if c != '"' {
			return false
		}
		raw, end := j.text()
		if raw == nil {
			return false
		}
		key := canonical(unquote(raw))
		j.i = end
		if j.space() != ':' {
			return false
		}
		j.i++
		if !j.value(secret || isSecretKey(key), key, depth+1) {
			return false
		}
	}
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
	if len(raw) == 0 {
		return
	}
	j.masked++
	if key == "inlinebytes" {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			plain, err := enc.Strict().DecodeString(string(raw))
			if err == nil && enc.EncodedLen(len(plain)) == len(raw) {
				j.k.mask(plain)
				enc.Encode(raw, plain)
				return
			}
		}
	}
	j.k.maskAs(raw, []byte(unquote(raw)))
}

// canonical makes both spellings of a field name one.
func canonical(key string) string {
	return strings.ToLower(strings.ReplaceAll(key, "_", ""))
}

func isSecretKey(key string) bool {
	switch key {
	case "privatekey", "password", "pkcs12", "privatekeyprovider", "sessionticketkeys", "genericsecret":
		return true
	}
	return false
}

func isPlace(key string) bool {
	switch key {
	case "@type", "filename", "environmentvariable", "providername", "path":
		return true
	}
	return false
}
