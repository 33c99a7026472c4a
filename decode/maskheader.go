package decode

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// headers returns a copy of fields with credentials masked, or false if there
// are none.
func (k *Masker) headers(fields []session.Field) ([]session.Field, bool) {
	var out []session.Field
	for i, f := range fields {
		if f.Value == "" || !isCredential(f.Name) {
			continue
		}
		if out == nil {
			out = slices.Clone(fields)
		}
		scheme := ""
		if strings.HasSuffix(strings.ToLower(f.Name), "authorization") {
			scheme = schemeOf(f.Value)
		}
		value := []byte(f.Value[len(scheme):])
		k.mask(value)
		out[i].Value = scheme + string(value)
	}
	return out, out != nil
}

// schemeOf is the authentication scheme that a value begins with, the space
// after it included, or "". It is kept.
func schemeOf(value string) string {
	word, rest, ok := strings.Cut(value, " ")
	switch strings.ToLower(word) {
	case "basic", "bearer", "digest", "negotiate", "ntlm", "aws4-hmac-sha256", "token", "dpop", "mutual", "hoba", "apikey":
		if ok && rest != "" {
			return value[:len(word)+1]
		}
	}
	return ""
}

// isCredential says whether the values of a header field are secrets, by its
// name. A "-bin" suffix only says how the value is written.
func isCredential(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), "-bin")
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "cookie", "set-cookie", "set-cookie2", "jwt":
		return true
	}
	for _, last := range []string{
		"authorization", "token", "secret", "password", "passwd", "passphrase", "credential", "credentials",
		"api-key", "apikey", "access-key", "secret-key", "private-key", "auth-key", "subscription-key",
		"assertion", "session-id", "-jwt", "auth",
	} {
		if rest, ok := strings.CutSuffix(name, last); ok && (rest == "" || strings.HasSuffix(rest, "-") || last[0] == '-') {
			return true
		}
	}
	return false
}
