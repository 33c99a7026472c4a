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
var secretKeys = [...]string{"cookie", "set-cookie", "set-cookie2", "x-honeycomb-team", "x-sf-key", "x-newrelic-license", "authentication", "phpsessid"}

// secretEndings make a key secret that ends so, after a hyphen or alone. Other words
// end so, too: bypass, oauth.
var secretEndings = [...]string{
	"pwd", "pass", "dsn", "psk", "jwt", "auth", "hmac", "bearer", "json-key", "key-data", "app-key",
	"dbpass", "dbpwd", "userpwd", // which are written so
}

// secretWords make a key secret that ends so, whatever stands before: PGPASSWORD,
// x-rapidapi-key. They are without the hyphens that may be in them.
var secretWords = [...]string{
	"authorization", "token", "secret", "secrets", "password", "passwords", "passwd", "passphrase", "passcode", "credential", "credentials",
	"apikey", "apikeys", "accesskey", "secretkey", "secretkeybase", "privatekey", "tlskey", "authkey", "signingkey", "encryptionkey", "hmackey",
	"sharedkey", "subscriptionkey", "accountkey", "masterkey", "licensekey", "ingestionkey", "functionskey", "applicationkey",
	"pkcs12", "connectionstring", "connstr", "webhookurl", "assertion", "sessionid", "basicauth",
}

// secretForms are what may follow in the name of a secret: how it is written.
var secretForms = [...]string{"value", "values", "data", "text", "plain", "plaintext", "raw", "base64", "b64", "hash", "string", "binary", "pem"}

// The same by their last byte.
var (
	endingsByLast = byLastByte(secretEndings[:])
	wordsByLast   = byLastByte(secretWords[:])
	formsByLast   = byLastByte(secretForms[:])
)

func byLastByte(words []string) (by [256][]string) {
	for _, word := range words {
		last := word[len(word)-1]
		by[last] = append(by[last], word)
	}
	return by
}

// publicKeys sound secret and are not.
var publicKeys = [...]string{"proxy-pass", "by-pass"}

// publicWords end like secretWords and say that there is none.
var publicWords = [...]string{"nonsecret", "notsecret", "nosecret", "nopassword", "nopasswd", "notoken"}

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
	if endsSecret(name, rough) || formOfSecret(name, rough) {
		return true
	}
	// PASSWORD_2, but not oauth2 and auth0.
	for n > 0 && (name[n-1] >= '0' && name[n-1] <= '9' || name[n-1] == '-') {
		n--
	}
	return n < len(name) && !(n >= 4 && string(name[n-4:n]) == "auth") && endsSecret(name[:n], rough)
}

// formOfSecret says whether a name is that of a secret and of how it is written.
func formOfSecret(name []byte, rough bool) bool {
	for _, form := range formsByLast[name[len(name)-1]] {
		rest, ok := bytes.CutSuffix(name, []byte(form))
		if !ok {
			continue
		}
		if before, hyphen := bytes.CutSuffix(rest, []byte("-")); hyphen && endsSecret(before, rough) || !hyphen && endsInWord(rest, rough) {
			return true
		}
	}
	return false
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
	for _, last := range endingsByLast[name[len(name)-1]] {
		at := len(name) - len(last)
		if at >= 0 && string(name[at:]) == last && (at == 0 || rough || name[at-1] == '-') {
			return true
		}
	}
	return endsInWord(name, rough)
}

// endsInWord says whether a name ends in one of the words that need no hyphen before
// them.
func endsInWord(name []byte, rough bool) bool {
	if len(name) == 0 {
		return false
	}
	for _, word := range wordsByLast[name[len(name)-1]] {
		if hasWord(name, word) {
			return rough || !isPublicWord(name)
		}
	}
	return false
}

// hasWord says whether a name ends in a word, hyphens in between left out, but for one
// before the last letter: the search for keys looks at the last two.
func hasWord(name []byte, word string) bool {
	at := len(name)
	for i := len(word) - 1; i >= 0; i-- {
		at--
		for at >= 0 && name[at] == '-' && i < len(word)-2 {
			at--
		}
		if at < 0 || name[at] != word[i] {
			return false
		}
	}
	return true
}

func isPublicWord(name []byte) bool {
	last := name[bytes.LastIndexByte(name, '-')+1:]
	for _, word := range publicWords {
		if string(last) == word {
			return true
		}
	}
	return false
}

// Canonical makes both spellings of a field name one.
func Canonical(key string) string {
	return strings.ToLower(strings.ReplaceAll(key, "_", ""))
}
