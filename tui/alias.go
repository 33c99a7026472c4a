package tui

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/check"
)

// aliases stand for names of clients, resources and hosts, and for addresses,
// while privacy is on. A name keeps its alias as long as the screen is there.
type aliases struct {
	on      bool
	of      map[string]string // alias by name
	names   map[string]bool   // that are aliases themselves
	counts  map[string]int    // by kind
	sorted  []string          // names and aliases, for the search in texts; nil: to be made
	toldAll bool              // that the table is full
	fetched uint64            // names of the fetcher that were taken over
	asked   time.Time         // when it was asked last what clients hold
}

const (
	maxAliases = 1 << 14
	// leastName is how long a name must be to be looked for in texts: one
	// letter is found everywhere, and tells nothing.
	leastName = 2
	// hidden stands for what came when the table was full.
	hidden = "(hidden)"
)

// meet gives a name an alias of a kind, if it has none.
func (a *aliases) meet(kind, name string) {
	if name == "" || name == "*" || len(a.of) >= maxAliases || a.of[name] != "" {
		return
	}
	if a.of == nil {
		a.of, a.names, a.counts = make(map[string]string), make(map[string]bool), make(map[string]int)
	}
	for {
		a.counts[kind]++
		alias := fmt.Sprintf("%s-%d", kind, a.counts[kind])
		if a.of[alias] == "" && alias != name { // nothing is really called so
			a.of[name], a.names[alias] = alias, true
			a.sorted = nil
			return
		}
	}
}

// exact is the alias of a name, which gets one if it has none.
func (a *aliases) exact(kind, name string) string {
	a.meet(kind, name)
	if alias := a.of[name]; alias != "" {
		return alias
	}
	return hidden
}

// text replaces what is known in a text: names, where they stand as words, and
// addresses.
func (a *aliases) text(s string) string {
	return a.addresses(a.words(s))
}

// words replaces names. Of two that begin alike the longer one counts.
func (a *aliases) words(s string) string {
	if len(a.of) == 0 {
		return s
	}
	if a.sorted == nil {
		for name := range a.of {
			if len(name) >= leastName {
				a.sorted = append(a.sorted, name)
			}
		}
		for name := range a.names {
			a.sorted = append(a.sorted, name)
		}
		slices.Sort(a.sorted)
		a.sorted = slices.Compact(a.sorted)
	}
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); {
		if i > 0 && wordByte(s[i-1]) && wordByte(s[i]) {
			i++
			continue
		}
		name := a.longest(s[i:])
		if name == "" {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		if alias := a.of[name]; alias != "" && !a.names[name] {
			b.WriteString(s[copied:i])
			b.WriteString(alias)
			copied = i + len(name)
		}
		i += len(name)
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// longest is the longest name that s begins with, and that ends there as a word.
func (a *aliases) longest(s string) string {
	for key := s; key != ""; {
		// The last name that is not after key: if it is no beginning of s, no
		// name is that is longer than what both have in common.
		i := sort.SearchStrings(a.sorted, key)
		if i == len(a.sorted) || a.sorted[i] != key {
			i--
		}
		if i < 0 {
			return ""
		}
		name := a.sorted[i]
		n := commonPrefix(name, key)
		if n == len(name) {
			if n == len(s) || !wordByte(s[n]) || !wordByte(s[n-1]) {
				return name
			}
			n--
		}
		key = key[:n]
	}
	return ""
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// wordByte says whether a byte belongs to a word, so that no name ends there.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// addresses replaces what is an address of IP. Ports stay, and so do the
// addresses that every machine has.
func (a *aliases) addresses(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); i++ {
		if !addressByte(s[i]) || i > 0 && wordByte(s[i-1]) {
			continue
		}
		end := i
		for end < len(s) && addressByte(s[end]) {
			end++
		}
		run := strings.TrimRight(s[i:end], ".")
		ip, err := netip.ParseAddr(run)
		if err != nil {
			// It may end with a port, or with a colon of the sentence.
			if colon := strings.LastIndexByte(run, ':'); colon > 0 {
				run = run[:colon]
				ip, err = netip.ParseAddr(run)
			}
		}
		if err == nil && !ip.IsLoopback() && !ip.IsUnspecified() {
			b.WriteString(s[copied:i])
			b.WriteString(a.exact("addr", ip.String()))
			copied = i + len(run)
		}
		i = end - 1
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

func addressByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '.' || c == ':'
}

// hostPort takes an address with a port apart.
func hostPort(s string) (host, port string, is bool) {
	host, port, err := net.SplitHostPort(s)
	return host, port, err == nil && port != ""
}

// Private hides names and addresses in what is exported, as the screen does. It
// is used by one goroutine, beside the screen.
type Private struct{ aliases aliases }

// copy is a table of its own, with the same aliases.
func (a *aliases) copy() *Private {
	own := *a
	own.of, own.names, own.counts, own.sorted = maps.Clone(a.of), maps.Clone(a.names), maps.Clone(a.counts), nil
	return &Private{own}
}

// Meet takes the names that an entry is about, before it is written.
func (p *Private) Meet(c *check.Change) {
	if c.Client != "" {
		p.aliases.meet("client", c.Client)
	}
	m := c.Message
	if m == nil {
		return
	}
	kind := kindOfName(c.Type)
	for _, names := range [][]string{c.Added, c.Removed, m.Names, m.Removed} {
		for _, n := range names {
			p.aliases.meet(kind, n)
		}
	}
	for i := range m.Resources {
		p.aliases.meet(kind, m.Resources[i].Name)
	}
}

// Text replaces names and addresses.
func (p *Private) Text(s string) string { return p.aliases.text(s) }
