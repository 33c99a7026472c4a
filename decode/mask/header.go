package mask

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/session"
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
	name := strings.ToLower(f.Name)
	switch {
	case f.Secret, secrets.IsCredential(name):
	case name == "grpc-message":
		return k.percentEncoded(f.Value)
	case strings.HasSuffix(name, "-bin"):
		return k.binary(f.Value, name == "grpc-status-details-bin")
	default:
		return k.text(f.Value)
	}
	scheme := ""
	if strings.HasSuffix(name, "authorization") {
		scheme = secrets.Scheme(f.Value)
	}
	value := []byte(f.Value[len(scheme):])
	k.masks.fill(value, value)
	return scheme + string(value), true
}

// text masks what looks like a secret in a text that is not known to hold any.
func (k *Masker) text(s string) (string, bool) {
	w := k.walker(true)
	if w.full = secrets.In([]byte(s)); !w.full {
		return s, false
	}
	b := []byte(s)
	w.text(b)
	return string(b), w.found()
}

// path masks the values of query parameters that are credentials.
func (k *Masker) path(s string) (string, bool) {
	if strings.IndexByte(s, '?') < 0 {
		return s, false
	}
	return k.text(s)
}

// percentEncoded masks the secrets of a grpc-message. Those bytes that were
// encoded stay so, and the message has the same masks when it is decoded.
func (k *Masker) percentEncoded(s string) (string, bool) {
	plain, at := make([]byte, 0, len(s)), make([]int, 0, len(s)+1)
	for i := 0; i < len(s); i++ {
		c := s[i]
		at = append(at, i)
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		plain = append(plain, c)
	}
	text, ok := k.text(string(plain))
	if !ok {
		return s, false
	}
	at = append(at, len(s))
	out := []byte(s)
	for i, c := range plain {
		switch {
		case text[i] == c:
		case at[i+1]-at[i] == 3:
			copy(out[at[i]:], fmt.Sprintf("%%%02X", text[i]))
		default:
			out[at[i]] = text[i]
		}
	}
	return string(out), true
}

// binary masks the secrets in the values, with commas between them, of a "-bin"
// field: of the details of a status as of that message, of others as far as they
// are found in bytes of which nothing is known. Details that are not base64 may
// hold anything.
func (k *Masker) binary(s string, isStatus bool) (string, bool) {
	values, found := strings.Split(s, ","), false
	for i, value := range values {
		text := strings.Trim(value, " ")
		encoding := base64.StdEncoding
		if len(text)%4 != 0 || !strings.HasSuffix(text, "=") {
			encoding = base64.RawStdEncoding
		}
		plain, err := encoding.DecodeString(text)
		var masked string
		if err == nil {
			got := k.masked(plain, func(w *walker, b []byte) {
				if isStatus {
					w.message(b, w.shapes["google.rpc.Status"], false, 0)
				} else {
					w.sweep(b, 0)
				}
			})
			if len(plain) == 0 || &got[0] == &plain[0] {
				continue
			}
			masked = encoding.EncodeToString(got)
		} else if isStatus {
			b := []byte(text)
			if k.masks.is(b) {
				continue
			}
			k.masks.fill(b, b)
			masked = string(b)
		} else if masked, _ = k.text(text); masked == text {
			continue
		}
		values[i], found = strings.Replace(value, text, masked, 1), true
	}
	if !found {
		return s, false
	}
	return strings.Join(values, ","), true
}
