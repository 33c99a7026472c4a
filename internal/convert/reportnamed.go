package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// What a report says of a resource that a finding names, at most.
const (
	reportNamed   = 3 // of a finding
	namedLines    = 120
	namedBytes    = 8 << 10
	namedContext  = 3 // equal lines around what differs
	namedCompared = 1 << 20
)

// named is a resource that a finding names: as the client was sent it when the
// rule found something, and as the client had accepted it before.
type named struct {
	name    string
	upTo    session.Seq // the last entry of the finding
	history *engine.History
	now     held
	before  held
}

// held is a version, with its content once that was met; nil if there is none.
type held struct {
	*engine.Version
	content *decode.Resource
}

// namedBy are the resources of a finding, about which nothing is known yet.
func namedBy(f *check.Finding) []*named {
	client := f.Client
	if client == "" && len(f.Clients) > 0 {
		client = f.Clients[0]
	}
	var out []*named
	for _, name := range f.Names[:min(len(f.Names), reportNamed)] {
		of := engine.Selection{Client: client, Type: f.Type, Name: name}
		out = append(out, &named{name: name, upTo: f.Seqs[len(f.Seqs)-1], history: engine.NewHistory(of)})
	}
	return out
}

// step takes the next entry, up to the one that proves the finding.
func (n *named) step(e *session.Entry, c *check.Change) {
	if e.Seq <= n.upTo {
		n.history.Step(e, &c.Change)
	}
}

// choose finds the two versions: the last one, and the one accepted before it.
func (n *named) choose() {
	versions := n.history.Versions()
	n.history = nil
	for i := len(versions) - 1; i >= 0; i-- {
		v := &versions[i]
		switch {
		case v.Removed:
		case n.now.Version == nil:
			n.now.Version = v
		case v.State == engine.Acked && v.Client == n.now.Client && v.Type == n.now.Type:
			n.before.Version = v
			return
		}
	}
}

// meet keeps the contents of the two versions when they come by.
func (n *named) meet(e *session.Entry, c *check.Change) {
	for _, h := range []*held{&n.now, &n.before} {
		if h.Version == nil || h.Seq != e.Seq {
			continue
		}
		if r := c.Resource(n.name); r != nil {
			h.content = &decode.Resource{Name: r.Name, TypeURL: r.TypeURL, Body: bytes.Clone(r.Body)}
		}
	}
}

// text is what a reader wants to know first: what is wrong, and what was there
// before it.
func (n *named) text(f *check.Finding) string {
	if n.now.content == nil {
		return ""
	}
	var b strings.Builder
	what := "sent"
	if n.now.State == engine.Rejected {
		what = "rejected"
	}
	fmt.Fprintf(&b, "\n%s %s, as it was %s: %s.\n", code(cmp.Or(n.now.Type, f.Type)), code(render.Middle(n.name, reportWidth)), what, n.now.place())
	doc := n.now.content.Decode()
	body := fenced("yaml", cutText(string(doc.YAML()), namedLines, namedBytes))
	switch {
	case n.before.content == nil:
		b.WriteString("The client had accepted none before.\n\n" + body)
		return b.String()
	case len(n.now.content.Body)+len(n.before.content.Body) > namedCompared:
		fmt.Fprintf(&b, "Accepted before: %s. The two are too large to be compared here.\n\n", n.before.place())
		b.WriteString(body)
		return b.String()
	}
	old := n.before.content.Decode()
	result := diff.Compare(&old.Root, &doc.Root, diff.Options{Type: sameType(&old, &doc)})
	if result.Same() {
		fmt.Fprintf(&b, "Accepted before, with the same content: %s.\n\n", n.before.place())
		b.WriteString(body)
		return b.String()
	}
	fmt.Fprintf(&b, "Against what the client had accepted: %s.\n\n", n.before.place())
	var lines strings.Builder
	for l := range render.DiffLines(result, namedContext) {
		if lines.Len() > 2*namedBytes {
			break // it is cut below, and says so
		}
		lines.WriteString(l.Line(render.Style{}, 0) + "\n")
	}
	b.WriteString(fenced("diff", cutText(lines.String(), namedLines, namedBytes)))
	b.WriteString(folded("all of it", body))
	return b.String()
}

// place says where a version is found.
func (h *held) place() string {
	text := "entry " + number(h.Seq)
	if h.Version.Version != "" {
		text += ", version " + code(render.Middle(h.Version.Version, reportWidth/2))
	}
	return text
}

func sameType(a, b *decode.Document) string {
	if a.Type == b.Type {
		return a.Type
	}
	return ""
}
