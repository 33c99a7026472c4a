package secrets

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
	masked    = []byte("[masked:")
	keyType   = []byte("kty") // of a JWK
)

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
// Without a user it is none: a message that looks like a text may begin with ":".
func login(b []byte, i int) (int, int) {
	if i == 0 || !isKeyChar(b[i-1]) {
		return 0, 0
	}
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
	case bytes.HasPrefix(b[start:], masked): // such a token
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
