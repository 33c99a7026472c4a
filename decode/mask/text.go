package mask

import (
	"bytes"
	"encoding/base64"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
)

// text masks what looks like a secret in a text that is not known to be one.
func (w *walker) text(b []byte) {
	if !w.full || !secrets.In(b) {
		return
	}
	if !w.write { // what is found first decides what is found next
		inner := walker{masks: w.masks, shapes: w.shapes, write: true, full: true, nested: w.nested}
		secrets.Each(bytes.Clone(b), &inner)
		w.masked += inner.masked
		return
	}
	secrets.Each(b, w)
}

// loose masks the secrets of a text that may be configuration in JSON.
func (w *walker) loose(b []byte) {
	if decode.LooksLikeJSON(b) || bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[{")) {
		if w.json(b) {
			return
		}
	}
	w.text(b)
}

// maxNested is how many times a text is followed into another: a string of JSON,
// or base64.
const maxNested = 4

// Brace masks the secrets of JSON that begins at i, in the middle of a text.
func (w *walker) Brace(b []byte, i int) int {
	next := bytes.TrimLeft(b[i+1:min(len(b), i+9)], " \t\r\n{[")
	if w.nested >= maxNested || len(next) == 0 || next[0] != '"' {
		return i
	}
	w.nested++
	j := jsonMasker{w: w, b: b, i: i, nested: true}
	j.value(false, "", 0)
	w.nested--
	return max(i, j.i) // up to there all was looked at, even if it is no JSON
}

// Base64 masks the secrets of a text in base64, which stays base64.
func (w *walker) Base64(b []byte) {
	if w.nested >= maxNested {
		return
	}
	plain := make([]byte, base64.RawStdEncoding.DecodedLen(len(b)))
	if _, err := base64.RawStdEncoding.Decode(plain, b); err != nil {
		return
	}
	before := bytes.Clone(plain)
	inner := walker{masks: w.masks, write: true, full: true, nested: w.nested + 1}
	inner.loose(plain)
	if bytes.Equal(before, plain) {
		return
	}
	w.masked++
	last := b[len(b)-1] // of which some bits may mean nothing
	base64.RawStdEncoding.Encode(b, plain)
	if before[len(plain)-1] == plain[len(plain)-1] {
		b[len(b)-1] = last
	}
}
