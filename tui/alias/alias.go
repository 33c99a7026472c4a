// Package alias keeps the aliases of names and addresses while privacy is on, and
// puts them into texts. It reads no log: names come to it.
package alias

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/check"
)

// Table is the aliases that stand for names of clients, resources and hosts, and for addresses,
// while privacy is on. A name keeps its alias as long as the screen is there.
type Table struct {
	On      bool
	Of      map[string]string // alias by name
	names   map[string]bool   // that are aliases themselves
	counts  map[string]int    // by kind
	sorted  []string          // names and aliases, for the search in texts; nil: to be made
	toldAll bool              // that the table is full
	fetched uint64            // names of those that were read that were taken over

	// Read gives the names of resources in messages that were read, after so
	// many, by type, and how many there are.
	Read func(after uint64) (map[string][]string, uint64)
	// Full is called once, when there are more names than aliases.
	Full func()
}

const (
	maxAliases = 1 << 14
	// leastName is how long a name must be to be looked for in texts: one
	// letter is found everywhere, and tells nothing.
	leastName = 2
	// hidden stands for what came when the table was full.
	hidden = "(hidden)"
)

// Meet gives a name an alias of a kind, if it has none.
func (a *Table) Meet(kind, name string) {
	if name == "" || name == "*" || len(a.Of) >= maxAliases || a.Of[name] != "" {
		return
	}
	if a.Of == nil {
		a.Of, a.names, a.counts = make(map[string]string), make(map[string]bool), make(map[string]int)
	}
	for {
		a.counts[kind]++
		alias := fmt.Sprintf("%s-%d", kind, a.counts[kind])
		if a.Of[alias] == "" && alias != name { // nothing is really called so
			a.Of[name], a.names[alias] = alias, true
			a.sorted = nil
			return
		}
	}
}

// Stamp tells whether texts are to be hidden anew.
func (a *Table) Stamp() int {
	if !a.On {
		return 0
	}
	return 1 + len(a.Of)
}

// exact is the alias of a name, which gets one if it has none.
func (a *Table) exact(kind, name string) string {
	a.Meet(kind, name)
	if alias := a.Of[name]; alias != "" {
		return alias
	}
	return hidden
}

// replace replaces what is known in a text: names, where they stand as words, and
// addresses.
func (a *Table) replace(s string) string {
	return a.addresses(a.words(s))
}

// words replaces names. Of two that begin alike the longer one counts.
func (a *Table) words(s string) string {
	if len(a.Of) == 0 {
		return s
	}
	if a.sorted == nil {
		for name := range a.Of {
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
		if i > 0 && WordByte(s[i-1]) && WordByte(s[i]) {
			i++
			continue
		}
		name := a.longest(s[i:])
		if name == "" {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		if alias := a.Of[name]; alias != "" && !a.names[name] {
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
func (a *Table) longest(s string) string {
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
			if n == len(s) || !WordByte(s[n]) || !WordByte(s[n-1]) {
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

// WordByte says whether a byte belongs to a word, so that no name ends there.
func WordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// addresses replaces what is an address of IP. Ports stay, and so do the
// addresses that every machine has.
func (a *Table) addresses(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); i++ {
		if !addressByte(s[i]) || i > 0 && WordByte(s[i-1]) {
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

// HostPort takes an address with a port apart.
func HostPort(s string) (host, port string, is bool) {
	host, port, err := net.SplitHostPort(s)
	return host, port, err == nil && port != ""
}

// Private hides names and addresses in what is exported, as the screen does. It
// is used by one goroutine, beside the screen.
type Private struct{ aliases Table }

// Private is a table of its own, with the same aliases.
func (a *Table) Private() *Private {
	own := *a
	own.Of, own.names, own.counts, own.sorted = maps.Clone(a.Of), maps.Clone(a.names), maps.Clone(a.counts), nil
	own.Read, own.Full = nil, nil
	return &Private{own}
}

// Meet takes the names that an entry is about, before it is written.
func (p *Private) Meet(c *check.Change) {
	if c.Client != "" {
		p.aliases.Meet("client", c.Client)
	}
	m := c.Message
	if m == nil {
		return
	}
	kind := KindOf(c.Type)
	for _, names := range [][]string{c.Added, c.Removed, m.Names, m.Removed} {
		for _, n := range names {
			p.aliases.Meet(kind, n)
		}
	}
	for i := range m.Resources {
		p.aliases.Meet(kind, m.Resources[i].Name)
	}
}

// Text replaces names and addresses.
func (p *Private) Text(s string) string { return p.aliases.replace(s) }
