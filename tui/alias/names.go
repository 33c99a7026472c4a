package alias

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Name is how a name or an address is written on the screen. It must be whole:
// shorten it afterwards.
func (a *Table) Name(s string) string {
	if !a.On || s == "" || s == "-" || s == "*" || strings.HasPrefix(s, "conn ") || a.names[s] {
		return s
	}
	a.meetFetched()
	if alias := a.Of[s]; alias != "" {
		return alias
	}
	if host, port, is := HostPort(s); is {
		return a.Host(host) + ":" + port
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return a.addresses(s)
	}
	return a.exact("name", s)
}

func (a *Table) Host(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Is6() {
			return "[" + a.addresses(host) + "]"
		}
		return a.addresses(host)
	}
	if host == "" || host == "localhost" {
		return host
	}
	return a.exact("host", host)
}

// Text is how a text is written on the screen: the names that are known and
// all addresses of IP in it are replaced. Other words are not: names of hosts
// that are no name of a resource, and what people wrote.
func (a *Table) Text(s string) string {
	if !a.On {
		return s
	}
	a.meetFetched()
	return a.replace(s)
}

// MeetAll gives aliases to names of resources.
func (a *Table) MeetAll(names map[string][]string) {
	types := xds.Order()
	for typ := range names {
		if !slices.Contains(types, typ) {
			types = append(types, typ)
		}
	}
	slices.Sort(types[len(xds.Order()):])
	for _, typ := range types {
		for _, n := range names[typ] {
			a.Meet(KindOf(typ), n)
		}
	}
}

// meetFetched gives aliases to the names in messages that were read again.
func (a *Table) meetFetched() {
	if a.Read == nil {
		return
	}
	names, n, all := a.Read(a.fetched)
	if !all {
		a.lose()
	}
	if n == a.fetched {
		return
	}
	a.fetched = n
	a.MeetAll(names)
}

// KindOf is the word that aliases of a type begin with.
func KindOf(typ string) string {
	switch typ {
	case "LDS":
		return "listener"
	case "RDS":
		return "route"
	case "SRDS":
		return "scope"
	case "VHDS":
		return "vhost"
	case "CDS":
		return "cluster"
	case "EDS":
		return "endpoints"
	case "SDS":
		return "secret"
	}
	return "resource"
}

// Held are names of resources by their short type, each once.
type Held struct {
	Names map[string][]string
	seen  map[string]bool
	size  int
}

// Take adds the names of a tree. It is false once there are more than a Table keeps.
func (h *Held) Take(t *engine.Tree) bool {
	if h.seen == nil {
		h.Names, h.seen = make(map[string][]string), make(map[string]bool)
	}
	var walk func(nodes []*engine.Node)
	walk = func(nodes []*engine.Node) {
		for _, n := range nodes {
			if h.size > maxSize {
				return
			}
			if !h.seen[n.Name] {
				h.seen[n.Name] = true
				h.size += len(n.Name) + perName
				h.Names[n.Type] = append(h.Names[n.Type], n.Name)
			}
			walk(n.Children)
		}
	}
	walk(t.Roots)
	walk(t.Dangling)
	walk(t.Missing)
	return h.size <= maxSize
}

// Hide replaces what is known in lines. Columns stay as wide as they are.
func (a *Table) Hide(lines []widget.Line) {
	for i := range lines {
		for j := range lines[i].Spans {
			s := &lines[i].Spans[j]
			clean := render.Safe(s.Text)
			hidden := a.replace(clean)
			if hidden == clean {
				continue
			}
			columns := render.Width(clean)
			switch {
			case strings.HasSuffix(clean, " "): // the space before the next column stays
				hidden = widget.Left(hidden, columns-1) + " "
			case j < len(lines[i].Spans)-1:
				hidden = widget.Left(hidden, columns)
			}
			s.Text = hidden
		}
	}
}
