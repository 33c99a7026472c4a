package secrets

import (
	"bytes"
	"strings"
)

// maxKey is how much of a key is looked at.
const maxKey = 64

// isKeyChar says whether a key in a text may hold c.
func isKeyChar(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// keyChars is the key that ends before i.
func keyChars(b []byte, i int) []byte {
	at := i
	for at > 0 && i-at < maxKey && isKeyChar(b[at-1]) {
		at--
	}
	return bytes.TrimLeft(b[at:i], "-.")
}

// assignment is what stands around a "=" or ":" in a text.
type assignment struct {
	key    []byte
	quoted bool // the key is
	spaced bool // there is space before or after the sign
	query  bool // the key follows "?", "&" or ";", as in the query of a URL
	from   int  // where the key begins, its quotes included
}

// assigned finds the key before the sign at i.
func assigned(b []byte, i int) (a assignment) {
	at := i
	if b[i] == '=' && at > 0 && b[at-1] == ':' { // :=
		at--
	}
	for at > 0 && i-at < 4 && isBlank(b[at-1]) {
		a.spaced, at = true, at-1
	}
	for end := at; at > 0 && end-at < 6 && strings.IndexByte("\"'`\\]", b[at-1]) >= 0; at-- {
		a.quoted = true
	}
	a.key = keyChars(b, at)
	before := at - len(a.key) - 1
	for a.from = before + 1; a.quoted && a.from > 0 && strings.IndexByte("\"'`\\[", b[a.from-1]) >= 0; a.from-- {
	}
	a.query = before >= 0 && strings.IndexByte("?&;", b[before]) >= 0
	return a
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// pair is the value that the sign at i, "=" or ":", gives to a key that says that
// it is secret.
func pair(b []byte, i int, rough bool) (from, to int) {
	a := assigned(b, i)
	if len(a.key) < 3 {
		return 0, 0
	}
	secret, faint := secretKey(a.key, rough), false
	switch {
	case secret, b[i] == ':' && isSource(a.key):
	case b[i] == '=':
		if faint = isFaint(a.key, a.query, rough); !faint {
			return 0, 0
		}
	case !rough && isNaming(a.key):
		return named(b, i)
	default:
		return 0, 0
	}
	if rough {
		return i, i + 1
	}
	at := i + 1
	if b[i] == '=' { // ==, =>
		for at < len(b) && at < i+3 && (b[at] == '=' || b[at] == '>') {
			at++
		}
	}
	for at < len(b) && at < i+16 && (isBlank(b[at]) || b[at] == '\n') {
		a.spaced, at = true, at+1
	}
	if from, to, ok := quoted(b, at); ok {
		if b[i] == ':' && !a.quoted && isNoun(a.key) || isPublic(b[from:to]) || isKeyFile(a.key, b[from:to]) {
			return 0, 0
		}
		return from + len(Scheme(string(b[from:to]))), to
	}
	if b[i] == ':' {
		return a.header(b, at)
	}
	at += len(Scheme(string(b[at:min(len(b), at+24)])))
	value := glance(b, at, a.query)
	if isPublic(value) || isKeyFile(a.key, value) || faint && !looksRandom(value) || a.spaced && (!hasDigit(value) || bytes.ContainsAny(value, "([{")) {
		return 0, 0 // rather a word, or code
	}
	return at, wordEnd(b, at, a.query)
}

// glance is the value at at, of which the first bytes have to do to say what it is.
func glance(b []byte, at int, query bool) []byte {
	near := b[:min(len(b), at+256)]
	return near[at:wordEnd(near, at, query)]
}

// header is the value at at of a field that is written as a header is. Words that
// only tell of a secret are followed by others: these are no values.
func (a *assignment) header(b []byte, at int) (from, to int) {
	key := strings.ToLower(string(a.key))
	if strings.HasSuffix(key, "cookie") {
		if bytes.IndexByte(glance(b, at, false), '=') < 0 {
			return 0, 0
		}
		if end := bytes.IndexAny(b[at:], "\r\n\"'"); end >= 0 {
			return at, at + end
		}
		return at, len(b)
	}
	if isNoun(a.key) || isSource(a.key) {
		return 0, 0
	}
	at += len(Scheme(string(b[at:min(len(b), at+24)])))
	value := glance(b, at, false)
	end := at + len(value)
	if isPublic(value) || isKeyFile(a.key, value) || isProse(value) || len(value) < 16 && !hasDigit(value) && !a.isEntry(b, end) || bytes.ContainsAny(value, "([{") || isPort(value) {
		return 0, 0
	}
	return at, wordEnd(b, at, false)
}

// isEntry says whether key and value, which ends at end, are all that there is in a
// line of a text, or in braces, as in YAML. One line by itself may be a sentence,
// unless its key is no word of such.
func (a *assignment) isEntry(b []byte, end int) bool {
	before := bytes.TrimRight(b[:a.from], " \t-")
	after := bytes.TrimLeft(b[end:], " \t\r")
	first, last := len(before) == 0, len(after) == 0
	switch {
	case !first && (before[len(before)-1] == '{' || before[len(before)-1] == ','):
		return !last && (after[0] == '}' || after[0] == ',' && before[len(before)-1] == '{')
	case !first && before[len(before)-1] != '\n', !last && after[0] != '\n':
		return false
	}
	return !first || !last || bytes.ContainsAny(a.key, "_-.")
}

// isPort says whether what follows a host and a colon is a port, and perhaps a path.
func isPort(v []byte) bool {
	digits, _, _ := bytes.Cut(v, []byte("/"))
	return len(digits) <= 5 && len(bytes.Trim(digits, "0123456789")) == 0
}

// named is the value that follows a name which says that it is secret, where name
// and value have fields of their own: key: "authorization", value: "x". The sign
// after "key" is at i.
func named(b []byte, i int) (from, to int) {
	at := i + 1
	for at < len(b) && at < i+8 && isBlank(b[at]) {
		at++
	}
	from, to, ok := quoted(b, at)
	if !ok || !IsKey(b[from:to]) {
		return 0, 0
	}
	near := b[to:min(len(b), to+80)]
	value := bytes.Index(near, []byte("value"))
	if value < 0 {
		return 0, 0
	}
	sign := bytes.IndexByte(near[value:], ':')
	if sign < 0 {
		return 0, 0
	}
	at = to + value + sign + 1
	for at < len(b) && isBlank(b[at]) {
		at++
	}
	if from, to, ok = quoted(b, at); !ok || isPublic(b[from:to]) {
		return 0, 0
	}
	return from + len(Scheme(string(b[from:to]))), to
}

// argument is the value that a script gives to a header field which is secret, with
// the ":" of the call at i: headers():add("x-api-key", "x").
func argument(b []byte, i int, rough bool) (from, to int) {
	call := b[i+1:]
	at := i + 1 + len("add(")
	switch {
	case bytes.HasPrefix(call, []byte("add(")):
	case bytes.HasPrefix(call, []byte("replace(")):
		at = i + 1 + len("replace(")
	default:
		return 0, 0
	}
	if rough {
		return i, i + 1
	}
	from, to, ok := quoted(b, at)
	if !ok || !IsKey(b[from:to]) {
		return 0, 0
	}
	rest := bytes.TrimLeft(b[to:], "\\")
	if len(rest) == 0 {
		return 0, 0
	}
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest[1:], " \t"), []byte(","))
	from, to, found := quoted(b, len(b)-len(bytes.TrimLeft(rest, " \t")))
	if !ok || !found || isPublic(b[from:to]) {
		return 0, 0
	}
	return from + len(Scheme(string(b[from:to]))), to
}

// flagged is the value after a flag in a command line, when the flag begins with
// the hyphen at i, says that it is secret, and ends with a space.
func flagged(b []byte, i int, rough bool) (from, to int) {
	if i > 0 && (b[i-1] == '-' || !rough && isKeyChar(b[i-1])) || i+1 == len(b) || classes[b[i+1]] != inWord && b[i+1] != '-' {
		return 0, 0
	}
	at := i
	for at < len(b) && at < i+2 && b[at] == '-' {
		at++
	}
	end := at
	for end < len(b) && end-at < maxKey && isKeyChar(b[end]) {
		end++
	}
	key := b[at:end]
	if end == len(b) || !isBlank(b[end]) || !IsKey(key) {
		return 0, 0
	}
	if rough {
		return i, i + 1
	}
	for at = end; at < len(b) && isBlank(b[at]); at++ {
	}
	if from, to, ok := quoted(b, at); ok {
		return from, to
	}
	value := glance(b, at, false)
	if isPublic(value) || isKeyFile(key, value) || value[0] == '-' || isProse(value) {
		return 0, 0
	}
	return at, wordEnd(b, at, false)
}

// IsFlag says whether an argument is a flag that says of the next one that it is
// secret.
func IsFlag(b []byte) bool {
	key := bytes.TrimLeft(b, "-")
	return len(key) < len(b) && len(key)+2 >= len(b) && IsKey(key) && !bytes.ContainsAny(key, " =:")
}

// afterScheme is what stands after the name of an authentication scheme and the
// space at i, which may be written as "%20".
func afterScheme(b []byte, start, i int, rough bool) (from, to int) {
	word := b[start:i]
	n := len("bearer")
	basic := len(word) >= 5 && strings.EqualFold(string(word[len(word)-5:]), "basic")
	switch {
	case basic:
		n = len("basic")
	case len(word) < n || !strings.EqualFold(string(word[len(word)-n:]), "bearer"):
		return 0, 0
	}
	if !rough && len(word) > n && isAlnum(word[len(word)-n-1]) {
		return 0, 0
	}
	at := i
	for at < len(b) && b[at] == ' ' {
		at++
	}
	if bytes.HasPrefix(b[at:], []byte("%20")) {
		at += 3
	}
	if at == i || at == len(b) || !isAlnum(b[at]) && strings.IndexByte("+/_~.-", b[at]) < 0 {
		return 0, 0
	}
	if rough {
		return i, i + 1
	}
	value := glance(b, at, false)
	if basic && !isLogin(value) || isProse(value) || len(value) < 4 {
		return 0, 0
	}
	return at, wordEnd(b, at, false)
}

// isLogin says whether b is a name and a password as basic authentication writes
// them. What was masked in it leaves it so.
func isLogin(b []byte) bool {
	from, to := base64Text(bytes.TrimRight(b, "="))
	if from != 0 || to < len(b)-4 {
		return false
	}
	colon := false
	for p := 0; p+4 <= to; p += 4 {
		v := uint32(sixBits[b[p]])<<18 | uint32(sixBits[b[p+1]])<<12 | uint32(sixBits[b[p+2]])<<6 | uint32(sixBits[b[p+3]])
		colon = colon || byte(v>>16) == ':' || byte(v>>8) == ':' || byte(v) == ':'
	}
	return colon
}

// quoted is what stands between the quotes that begin at at, which may have
// backslashes before them, as in JSON in a string; a quote that is doubled is not
// the end. Without an end it goes to that of b.
func quoted(b []byte, at int) (from, to int, ok bool) {
	escaped := false
	for at < len(b) && b[at] == '\\' {
		escaped, at = true, at+1
	}
	if at >= len(b) || strings.IndexByte("\"'`", b[at]) < 0 {
		return 0, 0, false
	}
	quote := b[at]
	from = at + 1
	for to = from; to < len(b); to++ {
		doubled := to+1 < len(b) && b[to+1] == quote // as YAML and CSV have a quote in a text
		if b[to] == quote && !doubled {
			break
		}
		if (b[to] == quote || b[to] == '\\' && !escaped) && to+1 < len(b) {
			to++
		}
	}
	if escaped && to < len(b) {
		for b[to-1] == '\\' { // before from is a quote
			to--
		}
	}
	return from, to, from < to
}

// wordEnd is where a value without quotes ends that begins at at. In a query it
// ends with the parameter; elsewhere what may be a part of it is, unless the next
// assignment comes after.
func wordEnd(b []byte, at int, query bool) int {
	end := at
scan:
	for ; end < len(b); end++ {
		switch c := b[end]; c {
		case '"', '\'', '`', '<', '>', 0x7f:
			break scan
		case '\\':
			if end+1 == len(b) || strings.IndexByte("\"'nrt", b[end+1]) >= 0 {
				break scan
			}
		case '&', ';', ',', '|':
			if query && c == '&' || endsValue(b[end+1:]) {
				break scan
			}
		default:
			if c <= ' ' {
				break scan
			}
		}
	}
	// Not what ends a sentence, or closes what was opened before the value.
	for last := end; end > at && last-end < 16; {
		open := ""
		switch b[end-1] {
		case '.', ',', ';', ':', '!', '?':
		case ')':
			open = "("
		case ']':
			open = "["
		case '}':
			open = "{"
		default:
			return end
		}
		if open != "" && bytes.Count(b[at:end], []byte(open)) >= bytes.Count(b[at:end], b[end-1:end]) {
			return end
		}
		end--
	}
	return end
}

// endsValue says whether b, which follows something that may be a part of a value or
// separate it from others, is nothing, a space, or another key and its sign.
func endsValue(b []byte) bool {
	if len(b) == 0 || b[0] <= ' ' || b[0] == '"' || b[0] == '\'' {
		return true
	}
	for i, c := range b[:min(len(b), maxKey)] {
		if c == '=' {
			return i > 0
		}
		if !isKeyChar(c) && c != ' ' && c != '%' {
			return false
		}
	}
	return false
}

// wordLength is how long the text is that b begins with, up to a space or quote.
func wordLength(b []byte) int {
	for i, c := range b {
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"'`<>", c) >= 0 {
			return i
		}
	}
	return len(b)
}

// isPublic says whether a value is none: nothing, a word that says so, the name of a
// scheme, something to be put in its place, a pattern for it, the place where it is
// kept, or a certificate.
func isPublic(v []byte) bool {
	switch strings.ToLower(string(bytes.Trim(v, "()[]"))) {
	case "", "true", "false", "null", "nil", "none", "yes", "no", "on", "off", "enabled", "disabled", "optional", "required", "undefined",
		"unset", "redacted", "hidden", "basic", "bearer", "digest", "negotiate":
		return true
	}
	if len(v) <= 4 && bytes.IndexFunc(v, func(r rune) bool { return r >= 0x80 || isAlnum(byte(r)) }) < 0 {
		return true // a sign in a sentence, or ".*"
	}
	for _, head := range []string{"([", "(.", "(?", "(\\", "[^", "[a-", "[A-", "[0-", "\\w", "\\d", "\\S", "${", "$(", "{{", "<", "/etc/", "/var/", "/run/", "/tmp/", "/usr/", "/opt/", "/mnt/", "/home/", "./", "file:/", "-----BEGIN "} {
		if bytes.HasPrefix(v, []byte(head)) {
			return true // private keys in PEM are found by themselves
		}
	}
	return IsCommand(v) || v[0] == '%' && bytes.HasPrefix(bytes.TrimLeft(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), []byte("("))
}

// isKeyFile says whether the value of a key that is one of cryptography is the name of
// the file that holds it.
func isKeyFile(key, v []byte) bool {
	return bytes.HasSuffix(bytes.ToLower(key), []byte("key")) && (bytes.HasSuffix(v, []byte(".pem")) || bytes.HasSuffix(v, []byte(".key")))
}

// isProse says whether a word after "Bearer" or a flag goes on with a sentence.
func isProse(v []byte) bool {
	word, _, _ := bytes.Cut(bytes.ToLower(v), []byte("="))
	switch string(bytes.TrimRight(word, ".,;:!?")) {
	case "token", "tokens", "auth", "authentication", "authorization", "scheme", "realm", "challenge", "header", "headers", "credential", "credentials",
		"format", "error", "failed", "failure", "value", "values", "prefix", "type", "method", "methods", "assertion", "mode", "only", "rules",
		"is", "was", "are", "were", "not", "missing", "required", "requires", "invalid", "expired", "found", "given", "set", "unset", "empty",
		"to", "or", "and", "of", "in", "for", "with", "without", "must", "may", "can", "cannot", "has", "have", "that", "this", "the", "from", "by",
		"flag", "flags", "option", "options", "argument", "arguments", "file", "stdin", "string",
		"unable", "x509", "unknown", "unsupported", "unauthorized", "denied", "rejected", "revoked", "malformed", "mismatch", "forbidden", "absent":
		return true
	}
	return false
}

// isSource says whether a key is that of a data source: who quotes one to say what
// is wrong with it shows a secret, more often than not.
func isSource(key []byte) bool {
	name := Canonical(string(key)) // by its end, as what stands before it in a message may be anything
	return strings.HasSuffix(name, "inlinestring") || strings.HasSuffix(name, "inlinebytes")
}

// isNoun says whether a key is a word that sentences use, too, before a colon and
// a name.
func isNoun(key []byte) bool {
	switch strings.ToLower(string(key)) {
	case "secret", "secrets", "credential", "credentials", "auth":
		return true
	}
	return false
}

// isNaming says whether what stands under a key is the name of something else.
func isNaming(key []byte) bool {
	switch string(key) {
	case "key", "name", "header", "header_name", "headerName":
		return true
	}
	return false
}

// faintKeys end the keys whose values may be secrets: of signed URLs, and of
// queries.
var faintKeys = [...]string{"signature", "sig", "key", "code"}

// isFaint says whether a key is one of these. It is rough if only its end counts.
func isFaint(key []byte, query, rough bool) bool {
	name := strings.ToLower(string(key))
	for i, last := range faintKeys {
		if strings.HasSuffix(name, last) && (rough || i == 0 || i == 1 && name == last || query && name == last) {
			return true
		}
	}
	return false
}

// looksRandom says whether a value is long and has digits and letters. Its mask does,
// or is not looked at again.
func looksRandom(v []byte) bool {
	if len(v) < 20 || !hasDigit(v) {
		return false
	}
	for _, c := range v {
		if isAlnum(c) && (c < '0' || c > '9') {
			return true
		}
	}
	return false
}

func hasDigit(v []byte) bool { return bytes.ContainsAny(v, "0123456789") }

// Scheme is the authentication scheme that a value begins with, the space
// after it included, or "". It is kept.
func Scheme(value string) string {
	word, rest, ok := strings.Cut(value, " ")
	switch strings.ToLower(word) {
	case "basic", "bearer", "digest", "negotiate", "ntlm", "aws4-hmac-sha256", "token", "dpop", "mutual", "hoba", "apikey":
		if ok && rest != "" {
			return value[:len(word)+1]
		}
	}
	return ""
}

// IsCommand says whether a value consists of command operators only, such as
// "%DYNAMIC_METADATA(a:b)%".
func IsCommand(v []byte) bool {
	for len(v) > 0 {
		end := bytes.IndexByte(v[1:], '%') + 1
		name := bytes.TrimLeft(v[1:max(end, 1)], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
		if v[0] != '%' || end < 3 || len(name) == end-1 || len(name) > 0 && name[0] != '(' && name[0] != ':' {
			return false
		}
		v = v[end+1:]
	}
	return true
}
