package filter

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// texts are texts of a row, of which one has to fit.
type texts struct {
	pattern
	any func(*Row, *pattern) bool
}

func (v *texts) takes(r *Row) bool { return v.any(r, &v.pattern) }

func listOf(anyOf func(*Row, *pattern) bool) func(string) (value, *Error) {
	return func(text string) (value, *Error) {
		p, err := parsePattern(text)
		return &texts{p, anyOf}, err
	}
}

// fieldOf is about one text of a row. Where there is none, nothing fits.
func fieldOf(of func(*Row) string) func(string) (value, *Error) {
	return listOf(func(r *Row, p *pattern) bool {
		s := of(r)
		return s != "" && p.is(s)
	})
}

// wordsOf looks for a text anywhere in the summary or in the body of a row.
func wordsOf(of func(*Row) string) func(string) (value, *Error) {
	return listOf(func(r *Row, p *pattern) bool { return p.in(of(r)) })
}

// client also knows its label.
type client struct{ pattern }

func (v *client) takes(r *Row) bool { return r.Change.Client != "" && v.is(r.Change.Client) }

func (v *client) mayBe(label string) bool {
	id, is := strings.CutPrefix(label, ClientLabel)
	return is && v.is(id)
}

func parseClient(text string) (value, *Error) {
	p, err := parsePattern(text)
	return &client{p}, err
}

func summaryOf(r *Row) string { return r.summary.of(r.Summary) }
func bodyOf(r *Row) string    { return r.body.of(r.Body) }

func versionOf(r *Row) string {
	if m := r.Change.Message; m != nil {
		return m.Version
	}
	return ""
}

func nonceOf(r *Row) string {
	if m := r.Change.Message; m != nil {
		return m.Nonce
	}
	return ""
}

// anyName tries the names of resources that an entry is about: those that it
// carries, asks for, adds, removes, or reports an error of.
func anyName(r *Row, p *pattern) bool {
	c := r.Change
	for _, names := range [...][]string{c.Added, c.Removed} {
		if anyOf(names, p) {
			return true
		}
	}
	m := c.Message
	if m == nil {
		return false
	}
	if anyOf(m.Names, p) || anyOf(m.Removed, p) {
		return true
	}
	for i := range m.Resources {
		res := &m.Resources[i]
		if res.Name != "" && p.is(res.Name) || anyOf(res.Aliases, p) {
			return true
		}
	}
	for i := range m.ResourceErrors {
		if p.is(m.ResourceErrors[i].Name) {
			return true
		}
	}
	return false
}

// maxSources bounds what is looked at of one resource.
const maxSources = 1024

// anySource tries the objects of a control plane that resources of a response were
// made of: each by its kind, by that and its namespace, and with its name, too.
func anySource(r *Row, p *pattern) bool {
	m := r.Change.Message
	if m == nil || !m.Response() {
		return false
	}
	fits := func(s *origin.Source) bool {
		paths := s.Paths()
		return anyOf(paths[:], p)
	}
	for i := range m.Resources {
		res := &m.Resources[i]
		typeURL := res.TypeURL
		if typeURL == "" {
			typeURL = m.TypeURL
		}
		list, _ := origin.Of(typeURL, res.Body, maxSources)
		for j := range list {
			if fits(&list[j]) {
				return true
			}
		}
	}
	for _, name := range m.Removed {
		if s, is := origin.Named(r.Change.Type, name); is && fits(&s) {
			return true
		}
	}
	return false
}

func anyOf(names []string, p *pattern) bool {
	for _, n := range names {
		if p.is(n) {
			return true
		}
	}
	return false
}

// anyMethod tries the path of a stream, and its last part.
func anyMethod(r *Row, p *pattern) bool {
	m := &r.Change.Method
	path := m.Path
	if path == "" {
		path = r.Entry.Method
	}
	return path != "" && p.is(path) || m.Name != "" && p.is(m.Name) || m.Service != "" && p.is(m.Service)
}

// nodeField makes the parser of one field of the node.
func nodeField(of func(*decode.Node) string) func(string) (value, *Error) {
	return fieldOf(func(r *Row) string {
		if r.Node == nil {
			return ""
		}
		return of(r.Node)
	})
}

func anyLocality(r *Row, p *pattern) bool {
	n := r.Node
	return n != nil && (n.Region != "" && p.is(n.Region) || n.Zone != "" && p.is(n.Zone))
}

func anyFeature(r *Row, p *pattern) bool { return r.Node != nil && anyOf(r.Node.ClientFeatures, p) }

func anyRule(r *Row, p *pattern) bool {
	for i := range r.Findings {
		if p.is(r.Findings[i].Rule) {
			return true
		}
	}
	return false
}

func resourcesOf(r *Row) (int64, bool) {
	count := r.Change.Count
	if r.Count != nil {
		count = r.Count
	}
	n, is := count()
	return int64(n), is && n != engine.Everything
}

func sizeOf(r *Row) (int64, bool) {
	if r.Entry.Message == nil {
		return 0, false
	}
	return r.Entry.Message.Size, true
}

func waitedOf(r *Row) (int64, bool) { return int64(r.Waited), r.Waited > 0 }
func streamOf(r *Row) (int64, bool) { return int64(r.Entry.Stream), true }
func connOf(r *Row) (int64, bool)   { return int64(r.Entry.Conn), true }

// direction is the side that sends messages that way.
type direction session.Side

func (v direction) takes(r *Row) bool {
	return r.Entry.Kind == session.KindMessage && r.Entry.Side == session.Side(v)
}
