package pseudonym

import (
	"net/netip"
	"strconv"
	"strings"
)

// token is a part of a text that may be replaced: a word, or an address.
type token struct {
	from, to int
	ip       netip.Addr // of an address
	sep      string     // between its numbers, if not "."
}

// style says how a text is written.
type style uint8

const (
	plain style = iota
	pattern
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isWord says whether a word may hold c. Bytes of other scripts are letters.
func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c >= 0x80 }

// tokens takes a text apart. What lies between two tokens stays as it is: signs,
// names of the API, forms that have a meaning.
func (v *vocabulary) tokens(s string, st style) (all []token) {
	for i := 0; i < len(s); {
		if n := v.fixed(s, i, st); n > 0 {
			i += n
			continue
		}
		c := s[i]
		if !isWord(c) && (c != ':' || i+1 == len(s) || s[i+1] != ':') {
			i++
			continue
		}
		if t, ok := addressAt(s, i); ok {
			all = append(all, t)
			i = t.to
			continue
		}
		if !isWord(c) {
			i++
			continue
		}
		end := i
		for end < len(s) && isWord(s[end]) {
			end++
		}
		all = append(all, token{from: i, to: end})
		i = end
	}
	return all
}

// fixed is how many bytes at i stay as they are, whatever is around them.
func (v *vocabulary) fixed(s string, i int, st style) int {
	rest := s[i:]
	switch rest[0] {
	case '[':
		if strings.HasPrefix(rest, "[masked:") {
			return ends(rest, "]")
		}
		if st == pattern { // a class of characters
			n := 1
			for n < len(rest) && (rest[n] == '^' || rest[n] == ']') {
				n++
			}
			for n < len(rest) && rest[n] != ']' {
				if n++; n < len(rest) && rest[n-1] == '\\' {
					n++
				}
			}
			return min(n+1, len(rest))
		}
	case '(':
		if st == pattern && strings.HasPrefix(rest, "(?") {
			if n := strings.IndexAny(rest, ":>)"); n > 0 && n < 64 {
				return n + 1
			}
		}
	case '\\', '%':
		if n := command(rest); n > len("%C3") { // %ACCESS_LOG_TYPE% begins like an escape
			return n
		}
		if n := escape(rest); n > 0 || rest[0] == '\\' {
			return n
		}
		return command(rest)
	}
	if !isWord(rest[0]) && rest[0] != ':' || i > 0 && isWord(s[i-1]) {
		return 0
	}
	return v.form(s, i)
}

// escape is the length of the escape with which s begins: of a letter, as in a
// string of code, or of a byte, as in a URL.
func escape(s string) int {
	switch {
	case len(s) > 1 && s[0] == '\\' && isLetter(s[1]):
		return 2
	case len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2]):
		return 3
	}
	return 0
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func ends(s, with string) int {
	if n := strings.Index(s, with); n >= 0 {
		return n + len(with)
	}
	return len(s)
}

// command is the name of a command operator of Envoy at the beginning of s, such
// as "%REQ(". Formats of time belong to it.
func command(s string) int {
	n := 1
	for s[0] == '%' && n < len(s) && (s[n] >= 'A' && s[n] <= 'Z' || s[n] == '_' || n > 1 && isDigit(s[n])) {
		n++
	}
	if n < 3 || n == len(s) || s[n] != '(' && s[n] != '%' && s[n] != ':' {
		return 0
	}
	if s[n] == '(' && (strings.Contains(s[:n], "TIME") || strings.Contains(s[:n], "_V_") || strings.Contains(s[:n], "DURATION")) {
		return n + ends(s[n:], ")")
	}
	return n
}

// addressAt is the address of IP at i, where a word begins. Numbers may be apart
// by "-" or "_", as in the names of hosts, and by `\.`, as in regular expressions.
func addressAt(s string, i int) (token, bool) {
	if i > 0 && (isWord(s[i-1]) || s[i-1] == ':' && s[i] == ':') {
		return token{}, false
	}
	if isDigit(s[i]) {
		for _, sep := range [...]string{".", "-", "_", `\.`} {
			if t, ok := dotted(s, i, sep); ok {
				return t, true
			}
		}
	}
	end, colons := i, 0
	for end < len(s) && end < i+46 && (isHex(s[end]) || s[end] == ':' || s[end] == '.') {
		if s[end] == ':' {
			colons++
		}
		end++
	}
	if colons < 2 || end < len(s) && isWord(s[end]) {
		return token{}, false
	}
	for end > i+2 && (s[end-1] == '.' || s[end-1] == ':' && s[end-2] != ':') {
		end--
	}
	if ip, err := netip.ParseAddr(s[i:end]); err == nil {
		return token{from: i, to: end, ip: ip}, true
	}
	return token{}, false
}

func dotted(s string, at int, sep string) (token, bool) {
	var four [4]byte
	i := at
	for k := range four {
		if k > 0 {
			if !strings.HasPrefix(s[i:], sep) {
				return token{}, false
			}
			i += len(sep)
		}
		from := i
		for i < len(s) && i < from+4 && isDigit(s[i]) {
			i++
		}
		b, err := strconv.ParseUint(s[from:i], 10, 8)
		if err != nil || i > from+1 && s[from] == '0' {
			return token{}, false
		}
		four[k] = byte(b)
	}
	if i < len(s) && isWord(s[i]) || strings.HasPrefix(s[i:], sep) && i+len(sep) < len(s) && isDigit(s[i+len(sep)]) {
		return token{}, false
	}
	t := token{from: at, to: i, ip: netip.AddrFrom4(four)}
	if sep != "." {
		t.sep = sep
	}
	return t, true
}

// text is an address as it stood there.
func (t token) text(ip string) string {
	if t.sep == "" {
		return ip
	}
	return strings.ReplaceAll(ip, ".", t.sep)
}

// trimmed cuts off what belongs to no word, at both ends.
func trimmed(s string) string {
	for s != "" && !isWord(s[0]) {
		s = s[1:]
	}
	for s != "" && !isWord(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// isNumeral says whether a word is a number that names nothing: a port, a size, a
// time with its unit, a version of an API.
func isNumeral(w string) bool {
	n := 0
	for n < len(w) && isDigit(w[n]) {
		n++
	}
	if n == 0 {
		return (w[0] == 'v' || w[0] == 'V') && isAPIVersion(w[1:])
	}
	if n > 5 {
		return false
	}
	switch w[n:] {
	case "", "s", "ms", "us", "ns", "m", "h", "d", "x", "st", "nd", "rd", "th", "b", "B", "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "Ki", "Mi", "Gi":
		return true
	}
	return false
}

// isAPIVersion is the rest of "v1", "v1alpha3".
func isAPIVersion(s string) bool {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == 0 || n > 2 {
		return false
	}
	if s = s[n:]; s == "" {
		return true
	}
	for _, stage := range [...]string{"alpha", "beta"} {
		if number, ok := strings.CutPrefix(s, stage); ok && len(number) < 3 && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

// replace maps the tokens that are wanted.
func (n *Names) replace(s string, all []token, wanted func(i int, t token) bool) string {
	var out strings.Builder
	copied := 0
	for i, t := range all {
		if !wanted(i, t) {
			continue
		}
		is := s[t.from:t.to]
		to := ""
		if t.ip.IsValid() {
			to = t.text(n.address(t.ip))
		} else {
			to = n.word(is)
		}
		if to != is {
			out.WriteString(s[copied:t.from])
			out.WriteString(to)
			copied = t.to
		}
	}
	if copied == 0 {
		return s
	}
	out.WriteString(s[copied:])
	return out.String()
}

// strict maps all words of a name.
func (n *Names) strict(s string, st style) string {
	return n.replace(s, n.vocab.tokens(s, st), func(_ int, t token) bool {
		return t.ip.IsValid() && !isWhole(t.ip) || !t.ip.IsValid() && !isNumeral(s[t.from:t.to])
	})
}

// agent maps what does not belong to the name of a program that others made.
func (n *Names) agent(s string) string {
	return n.replace(s, n.vocab.tokens(s, plain), func(_ int, t token) bool {
		w := s[t.from:t.to]
		return !isNumeral(w) && !n.vocab.stays(lower(w)) && !n.vocab.camel[w]
	})
}

// prose maps what is no word of such texts, and what is called so.
func (n *Names) prose(s string) string {
	all := n.vocab.tokens(s, plain)
	low := lower(s)
	called := make([]bool, len(all))
	if n.settled {
		for i := range all {
			for j := i; j < len(all) && j < i+maxWords && all[j].to-all[i].from <= maxWhole; j++ {
				if n.wholes[low[all[i].from:all[j].to]] {
					for k := i; k <= j; k++ {
						called[k] = true
					}
				}
			}
		}
	}
	return n.replace(s, all, func(i int, t token) bool {
		if t.ip.IsValid() {
			return !isWhole(t.ip)
		}
		w := s[t.from:t.to]
		learnt := n.words[low[t.from:t.to]] != "" // a name may have other words where it stands alone
		return !isNumeral(w) && (called[i] && learnt || !n.vocab.stays(low[t.from:t.to]) && !n.vocab.camel[w])
	})
}
