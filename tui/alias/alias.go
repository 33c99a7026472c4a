// Package alias keeps the aliases of names and addresses while privacy is on, and
// puts them into texts. It reads no log: names come to it.
package alias

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Table is the aliases that stand for names of clients, resources and hosts, and for addresses,
// while privacy is on. A name keeps its alias as long as the screen is there.
type Table struct {
	On      bool
	Of      map[string]string // alias by name; hidden, if it came when there were no more
	addrs   map[string]string // alias by address
	names   map[string]bool   // that are aliases themselves
	counts  map[string]int    // by kind
	search  search            // for names and aliases
	size    int               // of the names, in bytes
	full    bool              // some names or addresses have no alias of their own
	lost    bool              // some names are not kept: no text can be searched for them
	odd     bool              // some names are not written as they are
	fetched uint64            // names of those that were read that were taken over

	// Read gives the names of resources in messages that were read, after so
	// many, by type, how many there are, and whether none was left out.
	Read func(after uint64) (names map[string][]string, n uint64, all bool)
	// Full is told what people should know of more names than there is room for.
	Full func(said string)
}

const (
	// maxAliases bounds the aliases of names, and those of addresses.
	maxAliases = 1 << 14
	// maxSize bounds the bytes that are kept of names, with an alias or without.
	// perName is what one costs beside its bytes.
	maxSize = 64 << 20
	perName = 128
	// leastName is how long a name must be to be looked for in texts: one
	// letter is found everywhere, and tells nothing.
	leastName = 2
	// hidden stands for what came when there were no more aliases, and for a text
	// that cannot be searched.
	hidden = "(hidden)"

	saidFull = "there are more names or addresses than aliases: each of the others is written as " + hidden
	saidLost = "there are too many names to keep: texts are " + hidden
)

// ErrLost says that a text may have names that are not kept.
var ErrLost = errors.New("there are more than can be kept in memory")

// ErrOdd says that names may stand in a text in another form: with signs that are escaped
// or doubled, differently in each form and again in each text that quotes another.
var ErrOdd = errors.New("one has quotes, spaces or other signs that are written in another way")

// Meet gives a name an alias of a kind, if it has none. Beyond the last alias a name is
// kept without one of its own, since texts are searched only for what is kept.
func (a *Table) Meet(kind, name string) {
	if name == "" || name == "*" || a.Of[name] != "" || a.addrs[name] != "" {
		return
	}
	if a.size+len(name)+perName > maxSize {
		a.lose()
		return
	}
	a.size += len(name) + perName
	if a.Of == nil {
		a.Of = make(map[string]string)
	}
	a.Of[name] = a.next(kind, name, len(a.Of))
	if len(name) >= leastName {
		a.search.add(name)
		a.odd = a.odd || strings.ContainsAny(name, `"\`) || render.Safe(name) != name || strings.Join(strings.Fields(name), " ") != name
	}
}

// next is a new alias beside so many others; hidden, if there are no more.
func (a *Table) next(kind, name string, others int) string {
	if a.names == nil {
		a.names, a.counts = map[string]bool{hidden: true}, make(map[string]int)
		a.search.add(hidden)
	}
	if others >= maxAliases {
		if !a.full {
			a.full = true
			a.tell(saidFull)
		}
		return hidden
	}
	for {
		a.counts[kind]++
		alias := fmt.Sprintf("%s-%d", kind, a.counts[kind])
		if a.Of[alias] == "" && alias != name { // nothing is really called so
			a.names[alias] = true
			a.search.add(alias)
			return alias
		}
	}
}

// lose notes that there are names that are not kept.
func (a *Table) lose() {
	if !a.lost {
		a.lost = true
		a.tell(saidLost)
	}
}

func (a *Table) tell(said string) {
	if a.Full != nil {
		a.Full(said)
	}
}

// Stamp tells whether texts are to be hidden anew.
func (a *Table) Stamp() int {
	switch {
	case !a.On:
		return 0
	case a.lost:
		return -1
	}
	return 1 + len(a.Of)
}

// exact is the alias of a name, which gets one if it has none.
func (a *Table) exact(kind, name string) string {
	a.Meet(kind, name)
	return cmp.Or(a.Of[name], a.addrs[name], hidden)
}

// address is the alias of an address.
func (a *Table) address(ip string) string {
	if alias := cmp.Or(a.Of[ip], a.addrs[ip]); alias != "" {
		return alias
	}
	alias := a.next("addr", ip, len(a.addrs))
	if alias != hidden {
		if a.addrs == nil {
			a.addrs = make(map[string]string)
		}
		a.addrs[ip] = alias
		a.search.add(ip)
	}
	return alias
}

// replace replaces what is known in a text: names, where they stand as words, and
// addresses. A text that may have names that are not kept is hidden as a whole.
func (a *Table) replace(s string) string {
	if a.lost {
		if !strings.Contains(s, saidLost) && strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return hidden
		}
		return s
	}
	return a.addresses(a.words(a.clipped(whole(s))))
}

// whole leaves out the words beside what was omitted from a text: they may be parts of
// names, which nobody finds.
func whole(s string) string {
	var b strings.Builder
	copied := 0
	for at := strings.Index(s, engine.Omitted); at >= 0; {
		from, end := at, at+len(engine.Omitted)
		to := end
		for from > copied && !endsWord(s[from-1]) {
			from--
		}
		for to < len(s) && !endsWord(s[to]) {
			to++
		}
		if mayName(s[from:at]) || mayName(s[end:to]) {
			b.WriteString(s[copied:from])
			b.WriteString("(…)")
			copied = to
		}
		next := strings.Index(s[to:], engine.Omitted)
		if next < 0 {
			break
		}
		at = to + next
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// endsWord says whether a word that was cut can go on behind a byte: not behind what
// surrounds texts in the forms in which they are written.
func endsWord(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`\\", c) >= 0 }

// mayName says whether a part of a word may be one of a name or an address.
func mayName(s string) bool {
	return strings.ContainsAny(s, ".:") || strings.ContainsFunc(s, unicode.IsLetter)
}

// clipped replaces what is left of names that were too long for a text, or stood at its
// end. Where "…" stands for the rest, what is before it may begin a name that is known.
func (a *Table) clipped(s string) string {
	const mark, least, most = "…", 4, 2 << 10
	if !strings.Contains(s, mark) {
		return s
	}
	var b strings.Builder
	copied := 0
	for before, end := 0, 0; ; before = end { // up to before it was looked: no byte is looked at twice
		next := strings.Index(s[before:], mark)
		if next < 0 {
			break
		}
		at := before + next
		end = at + len(mark)
		for i := max(before, at-most); i <= at-least; i++ {
			if i > before && WordByte(s[i]) && goesOn(s[:i]) || !a.search.begins(s[i:at]) {
				continue
			}
			b.WriteString(s[copied:i])
			b.WriteString(hidden)
			copied = end
			break
		}
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// words replaces names. Of two that begin alike the longer one counts.
func (a *Table) words(s string) string {
	a.search.settle()
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); {
		if WordByte(s[i]) && goesOn(s[:i]) {
			i++
			continue
		}
		name := a.search.longest(s[i:])
		if name == "" {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
			continue
		}
		if alias := cmp.Or(a.Of[name], a.addrs[name]); alias != "" && !a.names[name] {
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

// WordByte says whether a byte belongs to a word, so that no name ends there.
func WordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// goesOn says whether a letter behind s belongs to the word with which s ends. It does not
// if that is an escape, as texts are written in quotes: \n, \x1b, \u2028, \U000e0001.
func goesOn(s string) bool {
	n := len(s)
	ends := func(length int, with string) bool {
		return n >= length && s[n-length] == '\\' && strings.IndexByte(with, s[n-length+1]) >= 0
	}
	return n > 0 && WordByte(s[n-1]) && !ends(2, "abfnrtv") && !ends(4, "x") && !ends(6, "u") && !ends(10, "U")
}

// addresses replaces what is an address of IP. Ports stay, and so do the
// addresses that every machine has.
func (a *Table) addresses(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); i++ {
		if !addressByte(s[i]) || goesOn(s[:i]) {
			continue
		}
		end := i
		for end < len(s) && addressByte(s[end]) {
			end++
		}
		for from := i; from < end; {
			if ip, n := addressAt(s[from:end]); n > 0 {
				if !ip.IsLoopback() && !ip.IsUnspecified() {
					b.WriteString(s[copied:from])
					b.WriteString(a.address(ip.String()))
					copied = from + n
				}
				break
			}
			colon := strings.IndexByte(s[from:end], ':') // a word or a number before it may look like a part
			if colon < 0 {
				break
			}
			from += colon + 1
		}
		i = end - 1
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// addressAt is the address with which a run of its letters begins, and how many bytes
// it has there; 0 if it begins with none.
func addressAt(run string) (netip.Addr, int) {
	const most = 64 // of an address, its port and what ends a sentence
	if len(run) > most {
		return netip.Addr{}, 0
	}
	run = strings.TrimRight(run, ".")
	ip, err := netip.ParseAddr(run)
	for range 2 { // it may end with a port, and with a colon of the sentence
		if colon := strings.LastIndexByte(run, ':'); err != nil && colon > 0 {
			run = run[:colon]
			ip, err = netip.ParseAddr(run)
		}
	}
	if err != nil {
		return netip.Addr{}, 0
	}
	return ip, len(run)
}

func addressByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' || c == '.' || c == ':'
}

// HostPort takes an address with a port apart. Names may look like one: those of
// xdstp://, of files behind a word and a colon.
func HostPort(s string) (host, port string, is bool) {
	host, port, err := net.SplitHostPort(s)
	_, wrong := strconv.ParseUint(port, 10, 16)
	return host, port, err == nil && wrong == nil && !strings.Contains(host, "/")
}

// Private hides names and addresses in what is exported, as the screen does. It
// is used by one goroutine, beside the screen.
type Private struct{ aliases Table }

// Private is a table of its own, with the same aliases.
func (a *Table) Private() *Private {
	own := *a
	own.Of, own.addrs, own.names, own.counts = maps.Clone(a.Of), maps.Clone(a.addrs), maps.Clone(a.names), maps.Clone(a.counts)
	own.search = a.search.clone()
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
	for i := range m.ResourceErrors {
		p.aliases.Meet(kind, m.ResourceErrors[i].Name)
	}
	for i := range m.InitialVersions {
		p.aliases.Meet(kind, m.InitialVersions[i].Name)
	}
}

// Text replaces names and addresses. It fails where there may be names that are not
// found.
func (p *Private) Text(s string) (string, error) {
	switch {
	case p.aliases.lost:
		return "", ErrLost
	case p.aliases.odd:
		return "", ErrOdd
	}
	return p.aliases.replace(s), nil
}

// Told is what people should know of what was hidden; "" if all has an alias of its own.
func (p *Private) Told() string {
	if p.aliases.full {
		return saidFull
	}
	return ""
}
