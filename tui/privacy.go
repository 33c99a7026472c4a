package tui

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// private says whether names and addresses are replaced.
func (m *Model) private() bool { return m.aliases.on }

// alias is how a name or an address is written on the screen. It must be whole:
// shorten it afterwards.
func (m *Model) alias(s string) string {
	if !m.private() || s == "" || s == "-" || s == "*" || strings.HasPrefix(s, "conn ") || m.aliases.names[s] {
		return s
	}
	m.meetFetched()
	if alias := m.aliases.of[s]; alias != "" {
		return alias
	}
	if host, port, is := hostPort(s); is {
		return m.aliasHost(host) + ":" + port
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return m.aliases.addresses(s)
	}
	return m.aliases.exact("name", s)
}

func (m *Model) aliasHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Is6() {
			return "[" + m.aliases.addresses(host) + "]"
		}
		return m.aliases.addresses(host)
	}
	if host == "" || host == "localhost" {
		return host
	}
	return m.aliases.exact("host", host)
}

// aliasText is how a text is written on the screen: the names that are known and
// all addresses of IP in it are replaced. Other words are not: names of hosts
// that are no name of a resource, and what people wrote.
func (m *Model) aliasText(s string) string {
	if !m.private() {
		return s
	}
	m.meetFetched()
	return m.aliases.text(s)
}

func (m *Model) togglePrivacy() tea.Cmd {
	m.aliases.on = !m.aliases.on
	m.frame = ""
	if !m.private() {
		m.say("names and addresses are shown as they are")
		return nil
	}
	if m.src.Proxy != nil {
		for _, r := range m.src.Proxy.Routes {
			if host, _, is := hostPort(r.Upstream); is {
				m.aliasHost(host)
			}
		}
	}
	m.meetSeen()
	m.say("aliases stand for names and addresses; other words in messages stay")
	return m.meetHeld()
}

// meetSeen gives aliases to the clients that are known, and to the names of
// which findings speak.
func (m *Model) meetSeen() {
	if !m.private() {
		return
	}
	for i := range m.seen.standing {
		m.aliases.meet("client", m.seen.standing[i].Client)
	}
	for i := range m.seen.findings {
		f := &m.seen.findings[i]
		for _, n := range f.Names {
			m.aliases.meet(kindOfName(f.Type), n)
		}
	}
}

// heldNames are names of resources by their short type.
type heldNames map[string][]string

// heldMsg is the names of resources that clients hold.
type heldMsg heldNames

// heldEvery is how often clients are asked for the names that they hold, at
// most.
const heldEvery = 5 * time.Second

// meetHeld asks which resources clients have: that takes a moment.
func (m *Model) meetHeld() tea.Cmd {
	if !m.private() || m.now().Sub(m.aliases.asked) < heldEvery {
		return nil
	}
	m.aliases.asked = m.now()
	var ids []string
	for i := range m.seen.standing {
		ids = append(ids, m.seen.standing[i].Client)
	}
	return func() tea.Msg {
		out := make(heldNames)
		for _, id := range ids {
			if t := m.feed.Tree(id); t != nil && !out.take(t) {
				break
			}
		}
		return heldMsg(out)
	}
}

// take adds the names of a tree; false if there are enough.
func (h heldNames) take(t *engine.Tree) bool {
	total := 0
	for _, names := range h {
		total += len(names)
	}
	var walk func(nodes []*engine.Node)
	walk = func(nodes []*engine.Node) {
		for _, n := range nodes {
			if total++; total > 2*maxAliases {
				return
			}
			h[n.Type] = append(h[n.Type], n.Name)
			walk(n.Children)
		}
	}
	walk(t.Roots)
	walk(t.Dangling)
	walk(t.Missing)
	return total <= 2*maxAliases
}

// meetAll gives aliases to names of resources.
func (m *Model) meetAll(names map[string][]string) {
	types := xds.Order()
	for typ := range names {
		if !slices.Contains(types, typ) {
			types = append(types, typ)
		}
	}
	slices.Sort(types[len(xds.Order()):])
	for _, typ := range types {
		for _, n := range names[typ] {
			m.aliases.meet(kindOfName(typ), n)
		}
	}
	if len(m.aliases.of) >= maxAliases && !m.aliases.toldAll {
		m.aliases.toldAll = true
		m.say("there are more names than aliases: some names stay in texts")
	}
}

// meetFetched gives aliases to the names in messages that were read again.
func (m *Model) meetFetched() {
	names, n := m.fetch.Names(m.aliases.fetched)
	if n == m.aliases.fetched {
		return
	}
	m.aliases.fetched = n
	m.meetAll(names)
}

// kindOfName is the word that aliases of a type begin with.
func kindOfName(typ string) string {
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

// hideIn is the last look at what is drawn: no name that is known leaves in full,
// whatever a view has forgotten. The lines of the frame are left out: they have
// words of ours, which may be somebody's names, and hide theirs themselves.
func (m *Model) hideIn(lines []widget.Line, top int) {
	if !m.private() {
		return
	}
	if _, ours := m.top().(*help); !ours {
		m.hide(lines[top:m.bodyBottom()])
	}
	if m.prompt == nil {
		m.hide(lines[m.h-2 : m.h-1])
	} else {
		m.hide(lines[m.h-1:]) // what it offers
	}
}

// hide replaces what is known in lines. Columns stay as wide as they are.
func (m *Model) hide(lines []widget.Line) {
	for i := range lines {
		for j := range lines[i].Spans {
			s := &lines[i].Spans[j]
			clean := render.Safe(s.Text)
			hidden := m.aliases.text(clean)
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
