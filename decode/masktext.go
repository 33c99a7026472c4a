package decode

import (
	"bytes"
	"encoding/base64"
)

var (
	pemKey    = []byte("PRIVATE KEY")
	xdstp     = []byte("xdstp")
	pemBegin  = []byte("-----BEGIN")
	pemEnd    = []byte("-----END")
	pemDashes = []byte("-----")
	pemBase64 = []byte("LS0tLS1CRUdJT") // "-----BEGIN" in base64
	jwtHead   = []byte("eyJ")           // `{"` in base64
	urlMark   = []byte("://")
	loginTCP  = []byte("@tcp(") // user:password@tcp(host:port)/name, as drivers of MySQL take it
	loginUnix = []byte("@unix(")
	keyType   = []byte("kty") // of a JWK
)

// text masks what looks like a secret in a text that is not known to be one.
func (w *maskWalker) text(b []byte) {
	if !w.full || !hasSecretText(b) {
		return
	}
	if !w.write { // what is found first decides what is found next
		inner := maskWalker{masks: w.masks, shapes: w.shapes, write: true, full: true, nested: w.nested}
		inner.patterns(bytes.Clone(b))
		w.masked += inner.masked
		return
	}
	w.patterns(b)
}

// loose masks the secrets of a text that may be configuration in JSON.
func (w *maskWalker) loose(b []byte) {
	if looksLikeJSON(b) || bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[{")) {
		if w.json(b) {
			return
		}
	}
	w.text(b)
}

// maxNested is how many times a text is followed into another: a string of JSON,
// or base64.
const maxNested = 4

// patterns masks what gives itself away in a text, from its beginning to its end:
// what begins first counts.
func (w *maskWalker) patterns(b []byte) {
	start, name := 0, 0 // of the word at hand; where the xdstp name ends that was met last
	var seen jwtSeen
	for i := 0; i <= len(b); i++ {
		class := between
		if i < len(b) {
			class = classes[b[i]]
		}
		if class == inWord {
			continue
		}
		end := i
		if i-start >= minLong {
			end = w.longWord(b, start, i, &seen)
		}
		if end == i && class == anchor {
			end = w.anchor(b, start, i, &name)
		}
		if end > i {
			i, start = end-1, end
		} else {
			start = i + 1
		}
	}
}

// anchor masks what the byte at i gives away, and returns where to go on: at i if
// that is nothing.
func (w *maskWalker) anchor(b []byte, start, i int, name *int) int {
	switch c := b[i]; {
	case c == '{', c == '[':
		return w.jsonInProse(b, i)
	case c == ':' && i >= *name && bytes.HasSuffix(b[:i], xdstp) && bytes.HasPrefix(b[i:], urlMark):
		*name = i + wordLength(b[i:])
	case c == '=' && i < *name:
		return i // the context parameters of a name are no credentials
	}
	from, to := secretAt(b, start, i, false)
	if from >= to {
		return i
	}
	w.leaf(b[from:to])
	return max(to, i+1)
}

// jsonInProse masks the secrets of JSON that begins at i, in the middle of a
// text.
func (w *maskWalker) jsonInProse(b []byte, i int) int {
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

// pemBlock is the block of a private key that begins at i, its first and last line
// included. Without a last line it goes to the end.
func pemBlock(b []byte, i int) (int, int) {
	line, _, _ := bytes.Cut(b[i:min(len(b), i+len(pemBegin)+40+len(pemKey))], []byte("\n"))
	at := bytes.Index(line, pemKey)
	if at < 0 || !bytes.HasPrefix(line, pemBegin) {
		return 0, 0
	}
	at += i
	end := bytes.Index(b[at:], pemEnd)
	if end < 0 {
		return i, len(b)
	}
	end += at + len(pemEnd)
	last := bytes.Index(b[end:], pemDashes)
	if last < 0 {
		return i, len(b)
	}
	return i, end + last + len(pemDashes)
}

// pemInBase64 is the base64 of a private key in PEM of which the beginning is at at.
func pemInBase64(b []byte, at int) (int, int) {
	end := at
	for end < len(b) && (isAlnum(b[end]) || b[end] == '+' || b[end] == '/' || b[end] == '=' || b[end] == '-' || b[end] == '_') {
		end++
	}
	var head [48]byte
	n, _ := base64.StdEncoding.Decode(head[:], b[at:at+min(end-at, 64)/4*4])
	if !bytes.Contains(head[:n], pemKey) {
		return end, end
	}
	return at, end
}

// webToken is a JWS or JWE in its compact form: three or five parts, of which
// the first is a JSON object.
func webToken(b []byte, at int) (int, int) {
	end, dots, second := at, 0, 0
	for end < len(b) && (isAlnum(b[end]) || b[end] == '-' || b[end] == '_' || b[end] == '.') {
		if b[end] == '.' {
			dots++
		} else if dots > 0 {
			second++
		}
		end++
	}
	if dots < 2 || second < 2 {
		return end, end
	}
	return at, end
}

// login is the password in "user:password@tcp(", of which the ":" stands at i.
func login(b []byte, i int) (int, int) {
	for end := i + 1; end < len(b) && end < i+maxKey && b[end] > ' ' && b[end] != '"' && b[end] != '\''; end++ {
		if b[end] == '@' && (bytes.HasPrefix(b[end:], loginTCP) || bytes.HasPrefix(b[end:], loginUnix)) {
			return i + 1, end
		}
	}
	return 0, 0
}

// urlPassword is what stands between ":" and "@" in the authority of a URL, or a
// token that stands there alone.
func urlPassword(b []byte, at int) (int, int) {
	start := at + len(urlMark)
	end := start
	for end < len(b) && b[end] > ' ' && b[end] < 0x7f && bytes.IndexByte([]byte("/?#\"'<>\\"), b[end]) < 0 {
		end++
	}
	host := bytes.LastIndexByte(b[start:end], '@')
	if host < 0 {
		return 0, 0
	}
	colon := bytes.IndexByte(b[start:start+host], ':')
	switch {
	case bytes.HasPrefix(b[start:], []byte(maskHead)): // of such a token
		return start, start + host
	case colon < 0:
		if only, _, _ := bytes.Cut(b[start:end], []byte("@")); looksRandom(only) && len(bytes.TrimFunc(only, func(r rune) bool { return r < 0x80 && isAlnum(byte(r)) })) == 0 {
			return start, start + len(only)
		}
		return 0, 0
	}
	return start + colon + 1, start + host
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
