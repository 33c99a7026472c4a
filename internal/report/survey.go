package report

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Survey is what someone who gets a recording can read in it, and cannot.
type Survey struct {
	seed   maphash.Seed
	seen   map[uint64]bool            // contents that were looked at
	masked map[string]int             // by field
	names  map[string]map[string]bool // by kind
	more   map[string]int             // that are not kept
}

// The kinds of what is readable, in the order in which they are told.
var kinds = []string{"clients", "resources", "hosts", "addresses", "metadata of clients"}

const (
	maxNames    = 20_000 // of a kind
	maxContents = 1 << 20
)

// NewSurvey returns a Survey that has seen nothing.
func NewSurvey() *Survey {
	s := &Survey{seed: maphash.MakeSeed(), seen: map[uint64]bool{}, masked: map[string]int{}, names: map[string]map[string]bool{}, more: map[string]int{}}
	for _, k := range kinds {
		s.names[k] = map[string]bool{}
	}
	return s
}

// See looks at an entry.
func (s *Survey) See(e *session.Entry, c *check.Change) {
	if p := e.Peer; p != nil {
		for _, a := range []string{p.Client, p.Listen, p.Upstream, p.Local} {
			s.text("", a)
		}
		for _, t := range []*session.TLS{p.ClientTLS, p.ServerTLS} {
			if t != nil {
				for _, name := range append(slices.Clone(t.Identities), t.ServerName, t.Issuer) {
					s.text("", name)
				}
			}
		}
	}
	for _, f := range e.Headers {
		s.text(f.Name, f.Value)
	}
	m := c.Message
	if m == nil || e.Message == nil {
		return
	}
	if c.Client != "" {
		s.add("clients", c.Client)
	}
	if m.Node != nil {
		s.whole(e, c)
		return
	}
	if m.Error != nil {
		s.text("error_detail", m.Error.Message)
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		s.add("resources", r.Name)
		if key := maphash.Bytes(s.seed, r.Body); s.seen[key] {
			continue
		} else if len(s.seen) < maxContents {
			s.seen[key] = true
		}
		doc := r.Decode()
		s.tree(c.Type, "", &doc.Root)
	}
}

// whole looks at a message that names a node.
func (s *Survey) whole(e *session.Entry, c *check.Change) {
	data := e.Message.Data.Bytes()
	if key := maphash.Bytes(s.seed, data); s.seen[key] {
		return
	} else if len(s.seen) < maxContents {
		s.seen[key] = true
	}
	doc := decode.Decode(c.Method, e.Side, "", data)
	if node, ok := doc.Root.Get("node"); ok {
		if id, ok := node.Get("cluster"); ok {
			s.add("clients", id.Text)
		}
		if meta, ok := node.Get("metadata"); ok {
			for _, m := range meta.Members {
				s.add("metadata of clients", m.Name)
			}
		}
	}
	s.tree("requests", "", &doc.Root)
}

func (s *Survey) tree(kind, field string, t *document.Tree) {
	switch t.Kind {
	case document.String:
		if n := strings.Count(t.Text, "[masked:"); n > 0 {
			s.masked[kind+" "+field] += n
		}
		s.text(field, t.Text)
	case document.Array:
		for i := range t.Items {
			s.tree(kind, field, &t.Items[i])
		}
	case document.Object:
		for i := range t.Members {
			m := &t.Members[i]
			if m.Name == "extensions" && kind == "requests" {
				continue // names of Envoy's own
			}
			s.tree(kind, m.Name, &m.Value)
		}
	}
}

// Hosts are words with dots that end in letters. What the API is called looks the
// same, and begins with words of its own.
var (
	host    = regexp.MustCompile(`\b(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}\b`)
	ownWord = regexp.MustCompile(`^(?:envoy|google|type|xds|udpa|opencensus|grpc|istio\.(?:mixer|networking)|extensions)\.`)
)

func (s *Survey) text(field, text string) {
	if field == "@type" || field == "type_url" || strings.HasPrefix(text, "type.googleapis.com/") {
		return
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,;|~()<>\"'=/@[]", r) }) {
		if a, err := netip.ParseAddr(word); err == nil {
			s.address(a)
		} else if at, err := netip.ParseAddrPort(word); err == nil {
			s.address(at.Addr())
		}
	}
	for _, h := range host.FindAllString(text, 64) {
		if !ownWord.MatchString(h) {
			s.add("hosts", h)
		}
	}
}

func (s *Survey) address(a netip.Addr) {
	if !a.IsUnspecified() && !a.IsLoopback() {
		s.add("addresses", a.String())
	}
}

func (s *Survey) add(kind, name string) {
	switch names := s.names[kind]; {
	case name == "" || names[name]:
	case len(names) >= maxNames:
		s.more[kind]++
	default:
		names[name] = true
	}
}

// Text tells what was masked, and of what is readable so many of each kind; all if
// most is 0.
func (s *Survey) Text(most int) string {
	var b strings.Builder
	fields, count := make([]string, 0, len(s.masked)), 0
	for f, n := range s.masked {
		fields, count = append(fields, f), count+n
	}
	slices.SortFunc(fields, func(x, y string) int { return cmp.Or(s.masked[y]-s.masked[x], cmp.Compare(x, y)) })
	if count == 0 {
		b.WriteString("masked: nothing\n")
	} else {
		fmt.Fprintf(&b, "masked: %s\n", render.Count(count, "value", "values"))
	}
	list(&b, fields, most, 0, func(f string) string { return fmt.Sprintf("%s (%d)", f, s.masked[f]) })
	for _, k := range kinds {
		names := make([]string, 0, len(s.names[k]))
		for n := range s.names[k] {
			names = append(names, n)
		}
		slices.Sort(names)
		if len(names) == 0 {
			fmt.Fprintf(&b, "readable %s: none\n", k)
			continue
		}
		fmt.Fprintf(&b, "readable %s: %s\n", k, render.Number(len(names)+s.more[k]))
		list(&b, names, most, s.more[k], func(n string) string { return n })
	}
	return b.String()
}

func list(b *strings.Builder, words []string, most, more int, say func(string) string) {
	shown := words
	if most > 0 {
		shown = words[:min(len(words), most)]
	}
	for _, w := range shown {
		fmt.Fprintf(b, "  %s\n", render.Safe(say(w)))
	}
	if left := len(words) - len(shown) + more; left > 0 {
		fmt.Fprintf(b, "  and %s more\n", render.Number(left))
	}
}
