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
		value, ok := k.headerValue(f)
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(fields)
		}
		out[i].Value = value
	}
	return out, out != nil
}

func (k *Masker) headerValue(f session.Field) (string, bool) {
	if f.Value == "" {
		return "", false
	}
	if f.Name == ":path" {
		return k.path(f.Value)
	}
	if !f.Secret && !isCredential(f.Name) {
		return k.text(f.Value)
	}
	scheme := ""
	if strings.HasSuffix(strings.ToLower(f.Name), "authorization") {
		scheme = schemeOf(f.Value)
	}
	value := []byte(f.Value[len(scheme):])
	k.masks.fill(value, value)
	return scheme + string(value), true
}

// text masks what looks like a secret in a text that is not known to hold any.
func (k *Masker) text(s string) (string, bool) {
	w := k.walker(true)
	if w.full = hasSecretText([]byte(s)); !w.full {
		return s, false
	}
	b := []byte(s)
	w.text(b)
	return string(b), w.found()
}

// path masks the values of query parameters whose names say that they are
// credentials.
func (k *Masker) path(s string) (string, bool) {
	path, query, ok := strings.Cut(s, "?")
	if !ok {
		return s, false
	}
	parts, found := strings.Split(query, "&"), false
	for i, part := range parts {
		if name, value, _ := strings.Cut(part, "="); value != "" && isSecretKey([]byte(name)) {
			b := []byte(value)
			k.masks.fill(b, b)
			parts[i], found = name+"="+string(b), true
		}
	}
	text, more := k.text(strings.Join(parts, "&"))
	return path + "?" + text, found || more
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
