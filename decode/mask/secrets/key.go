// Package secrets says what looks like a secret in a text: by the name that stands
// before it, or by its own form. It changes nothing, and knows no message.
package secrets

import (
	"bytes"
	"strings"
)

// IsCredential says whether the values of a header field are secrets, by its
// name. A "-bin" suffix only says how the value is written.
func IsCredential(name string) bool {
	return IsKey([]byte(strings.TrimSuffix(strings.ToLower(name), "-bin")))
}

// secretKeys are secret as they are: of headers that vendors gave other names,
// and others that end like what is no secret.
var secretKeys = [...]string{"cookie", "set-cookie", "set-cookie2", "x-honeycomb-team", "x-sf-key", "x-newrelic-license", "dsn", "jsessionid", "phpsessid"}

// secretEndings make a key secret that ends so, after a hyphen or alone.
var secretEndings = [...]string{
	"authorization", "token", "secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase", "pass", "passcode",
	"credential", "credentials", "api-key", "api-keys", "apikey", "access-key", "secret-key", "private-key", "auth-key", "signing-key",
	"encryption-key", "hmac-key", "shared-key", "subscription-key", "account-key", "master-key", "license-key", "ingestion-key",
	"functions-key", "json-key", "key-data", "pkcs12", "connection-string", "connectionstring", "conn-str", "webhook-url",
	"application-key", "app-key", "assertion", "session-id", "sessionid", "psk", "jwt", "auth", "hmac", "bearer",
}

// byLastByte are these endings by their last byte.
var byLastByte = func() (by [256][]string) {
	for _, last := range secretEndings {
		by[last[len(last)-1]] = append(by[last[len(last)-1]], last)
	}
	return by
}()

// secretForms are what may follow in the name of a secret: how it is written.
var secretForms = [...]string{"-value", "-values", "-data", "-text", "-plain", "-plaintext", "-raw", "-base64", "-b64", "-hash"}

// publicKeys sound secret and are not.
var publicKeys = [...]string{"proxy-pass", "by-pass"}

// IsKey says whether a key of a map, a Struct or a JSON object says that
// the value is secret. It may be written in any of the usual ways.
func IsKey(key []byte) bool { return secretKey(key, false) }

// secretKey is IsKey. It is rough if what comes before the key may be
// something else: then only its end counts.
func secretKey(key []byte, rough bool) bool {
	if len(key) < 3 || len(key) > 256 {
		return false
	}
	var kebab [512]byte
	n := 0
	for i, c := range key {
		switch {
		case c == '_', c == '.', c == ' ', c == '/':
			c = '-'
		case c >= 'A' && c <= 'Z':
			if i > 0 && (key[i-1] >= 'a' && key[i-1] <= 'z' || key[i-1] >= '0' && key[i-1] <= '9') {
				kebab[n] = '-'
				n++
			}
			c += 'a' - 'A'
		}
		kebab[n] = c
		n++
	}
	name := kebab[:n]
	if endsSecret(name, rough) {
		return true
	}
	if bytes.IndexByte(name, '-') < 0 && name[n-1] > '9' {
		return false
	}
	for _, form := range secretForms {
		if n > len(form) && string(name[n-len(form):]) == form {
			return endsSecret(name[:n-len(form)], rough)
		}
	}
	// PASSWORD_2, but not oauth2 and auth0.
	for n > 0 && (name[n-1] >= '0' && name[n-1] <= '9' || name[n-1] == '-') {
		n--
	}
	return n < len(name) && !(n >= 4 && string(name[n-4:n]) == "auth") && endsSecret(name[:n], rough)
}

func endsSecret(name []byte, rough bool) bool {
	if len(name) == 0 {
		return false
	}
	for _, key := range publicKeys {
		if string(name) == key {
			return false
		}
	}
	for _, key := range secretKeys {
		if string(name) == key || rough && strings.HasSuffix(string(name), key) {
			return true
		}
	}
	for _, last := range byLastByte[name[len(name)-1]] {
		at := len(name) - len(last)
		if at >= 0 && string(name[at:]) == last && (at == 0 || rough || name[at-1] == '-') {
			return true
		}
	}
	return false
}

// Canonical makes both spellings of a field name one.
func Canonical(key string) string {
	return strings.ToLower(strings.ReplaceAll(key, "_", ""))
}
