package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
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
	of      history.Selection
	in      decode.Decoder
	history *history.History // nil before the first entry
	now     held
	before  held
}

// held is a version, with its content once that was met; nil if there is none.
type held struct {
	*history.Version
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
		of := history.Selection{Client: client, Type: f.Type, Name: name}
		out = append(out, &named{name: name, upTo: f.Seqs[len(f.Seqs)-1], of: of})
	}
	return out
}

// step takes the next entry, up to the one that proves the finding.
func (n *named) step(e *session.Entry, c *check.Change) {
	if n.history == nil {
		n.history, n.in = history.New(n.of, c.Types), decode.Decoder{Types: c.Types}
	}
	if e.Seq <= n.upTo {
		n.history.Step(e, &c.Change)
	}
}

// choose finds the two versions: the last one, and the one accepted before it.
func (n *named) choose() {
	if n.history == nil {
		return
	}
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

// compare holds the two versions against each other; false if the content of
// the later one was not met.
func (n *named) compare(f *check.Finding) (Compared, bool) {
	if n.now.content == nil {
		return Compared{}, false
	}
	out := Compared{Type: cmp.Or(n.now.Type, f.Type), Name: n.name, Now: *n.now.Version, Body: n.in.Resource(n.now.content)}
	if n.before.content == nil {
		return out, true
	}
	out.Before = n.before.Version
	if len(n.now.content.Body)+len(n.before.content.Body) > namedCompared {
		return out, true
	}
	old := n.in.Resource(n.before.content)
	out.Diff = diff.Compare(&old.Root, &out.Body.Root, diff.Options{Type: sameType(&old, &out.Body), Types: n.in.Types})
	return out, true
}

// Compared is a resource that a finding names, as the client was sent it, against
// what it had accepted before.
type Compared struct {
	Type, Name string
	Now        history.Version
	Body       document.Document // of Now
	Before     *history.Version  // nil: it had accepted none
	Diff       *diff.Result      // nil: there is none before, or the two are too large
}

// Sent says what became of the later version, in one word.
func (c *Compared) Sent() string {
	if c.Now.State == engine.Rejected {
		return "rejected"
	}
	return "sent"
}

// text is what a reader wants to know first: what is wrong, and what was there
// before it.
func (n *named) text(f *check.Finding) string {
	is, met := n.compare(f)
	if !met {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s, as it was %s: %s.\n", code(is.Type), code(render.Middle(is.Name, reportWidth)), is.Sent(), place(&is.Now))
	body := fenced("yaml", cutText(string(is.Body.YAML()), namedLines, namedBytes))
	switch {
	case is.Before == nil:
		b.WriteString("The client had accepted none before.\n\n" + body)
		return b.String()
	case is.Diff == nil:
		fmt.Fprintf(&b, "Accepted before: %s. The two are too large to be compared here.\n\n", place(is.Before))
		b.WriteString(body)
		return b.String()
	case is.Diff.Same():
		fmt.Fprintf(&b, "Accepted before, with the same content: %s.\n\n", place(is.Before))
		b.WriteString(body)
		return b.String()
	}
	fmt.Fprintf(&b, "Against what the client had accepted: %s.\n\n", place(is.Before))
	var lines strings.Builder
	for l := range render.DiffLines(is.Diff, namedContext) {
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
func place(v *history.Version) string {
	text := "entry " + number(v.Seq)
	if v.Version != "" {
		text += ", version " + code(render.Middle(v.Version, reportWidth/2))
	}
	return text
}

func sameType(a, b *document.Document) string {
	if a.Type == b.Type {
		return a.Type
	}
	return ""
}
