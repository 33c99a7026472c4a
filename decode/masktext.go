package decode

import (
	"bytes"
	"encoding/base64"
)

// hasSecretText says whether b may hold a text that looks like a secret, at any
// depth. It costs a few searches and is the reason why most bytes are never
// looked at.
func hasSecretText(b []byte) bool {
	return bytes.Contains(b, pemKey) || bytes.Contains(b, jwtHead) || bytes.Contains(b, pemBase64) || bytes.Contains(b, keyType) ||
		bytes.IndexByte(b, '@') >= 0 && bytes.Contains(b, urlMark)
}

var (
	pemKey    = []byte("PRIVATE KEY")
	pemBegin  = []byte("-----BEGIN")
	pemEnd    = []byte("-----END")
	pemDashes = []byte("-----")
	pemBase64 = []byte("LS0tLS1CRUdJT") // "-----BEGIN" in base64
	jwtHead   = []byte("eyJ")           // `{"` in base64
	urlMark   = []byte("://")
	keyType   = []byte(`"kty"`)
)

// text masks what looks like a secret in a text that is not known to be one.
func (w *maskWalker) text(b []byte) {
	if w.full {
		w.loose(b)
	}
}

// loose masks the secrets of a text that may be configuration in JSON.
func (w *maskWalker) loose(b []byte) {
	if looksLikeJSON(b) || bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[{")) {
		if w.json(b) {
			return
		}
	}
	if w.full {
		w.patterns(b)
	}
}

// patterns masks private keys in PEM, as it is or in base64, JSON web tokens,
// and passwords in URLs.
func (w *maskWalker) patterns(b []byte) {
	w.each(b, pemKey, pemBlock)
	w.each(b, pemBase64, pemInBase64)
	w.each(b, jwtHead, webToken)
	w.each(b, urlMark, urlPassword)
}

// each masks what find makes of every place where mark occurs: a range around
// it, or an empty one, which says from where to go on.
func (w *maskWalker) each(b, mark []byte, find func(b []byte, at int) (int, int)) {
	for off := 0; ; {
		i := bytes.Index(b[off:], mark)
		if i < 0 {
			return
		}
		start, end := find(b, off+i)
		if start < end {
			w.leaf(b[start:end])
		}
		off = max(end, off+i+len(mark))
	}
}

// pemBlock is the block of a private key, its first and last line included.
// Without a last line it goes to the end.
func pemBlock(b []byte, at int) (int, int) {
	near := max(0, at-40)
	start := bytes.LastIndex(b[near:at], pemBegin)
	if start < 0 {
		return 0, 0
	}
	if start += near; bytes.IndexByte(b[start:at], '\n') >= 0 {
		return 0, 0
	}
	end := bytes.Index(b[at:], pemEnd)
	if end < 0 {
		return start, len(b)
	}
	end += at + len(pemEnd)
	last := bytes.Index(b[end:], pemDashes)
	if last < 0 {
		return start, len(b)
	}
	return start, end + last + len(pemDashes)
}

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

// urlPassword is what stands between ":" and "@" in the authority of a URL.
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
	if colon < 0 {
		return 0, 0
	}
	return start + colon + 1, start + host
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
