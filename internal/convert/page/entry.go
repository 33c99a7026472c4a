package page

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// row is a line of the timeline: an entry, or in its place how many are left out.
type row struct {
	head   []byte // the entry without its end
	body   []byte // its message and where the pieces of it are; nil: it has none, or there was no room
	ids    []int  // pieces of the head, then those of the body
	ofHead int    // how many are of the head
	sum    sum
	needed bool
}

// sum is what is told of entries that are left out.
type sum struct {
	First    uint64         `json:"first"`
	Last     uint64         `json:"last"`
	From     string         `json:"from"`
	To       string         `json:"to"`
	Entries  int            `json:"entries"`
	Messages int            `json:"messages"`
	Bytes    int64          `json:"bytes"`
	What     map[string]int `json:"what"`
}

func sumOf(e *session.Entry, c *check.Change) sum {
	at := render.Timestamp(e.Time)
	s := sum{First: uint64(e.Seq), Last: uint64(e.Seq), From: at, To: at, Entries: 1, What: map[string]int{}}
	what := c.What
	if e.Message != nil {
		s.Messages, s.Bytes = 1, e.Message.Size
	}
	if what == "" {
		what = e.Kind.String()
	}
	s.What[what]++
	return s
}

func (s *sum) add(o *sum) {
	s.Last, s.To = o.Last, o.To
	s.Entries += o.Entries
	s.Messages += o.Messages
	s.Bytes += o.Bytes
	for what, n := range o.What {
		s.What[what] += n
	}
}

// text is a value as JSON that may stand in the page.
func text(v any) ([]byte, error) {
	line, err := render.JSONLine(v)
	return inert(bytes.TrimSuffix(line, []byte("\n"))), err
}

func treeText(t *document.Tree) []byte {
	return inert(render.EscapeJSON(document.Document{Root: *t}.Compact()))
}

// refs says where the pieces of an entry are that it shares with others.
type refs struct {
	ids  []int
	text bytes.Buffer
}

// in stores a piece; one that is too large becomes null.
func (r *refs) in(p *pool, json []byte) {
	if len(json) > maxPiece {
		r.text.WriteString("null")
		return
	}
	id := p.add(json)
	r.ids = append(r.ids, id)
	fmt.Fprint(&r.text, id)
}

// member adds the places as a member of an object that is not ended yet.
func (r *refs) member(to []byte, name string) []byte {
	if r.text.Len() == 0 {
		return to
	}
	return fmt.Appendf(to, `,"%s":{%s}`, name, r.text.Bytes())
}

func (r *refs) name(path string) {
	if r.text.Len() > 0 {
		r.text.WriteByte(',')
	}
	name, _ := text(path) // a string can always be encoded
	r.text.Write(name)
	r.text.WriteByte(':')
}

// entry makes the row of an entry. What is long and can repeat goes to the pool.
func (b *builder) entry(e *session.Entry, c *check.Change, whole bool) (*row, error) {
	o := render.NewObject(e, c)
	o.AddHeaders(e)
	beside := b.told.Note(e.Seq)
	o.Marked, o.Remark = beside.Marked, beside.Text
	var message document.Document
	if whole && e.Message != nil {
		message = b.documents.Message(e, c)
		o.AddProblems(message.Problems)
	}
	shared, lists := &refs{}, &refs{}
	err := b.move(o, shared, lists, whole && e.Message != nil)
	if err != nil {
		return nil, err
	}
	head, err := text(o)
	if err != nil {
		return nil, err
	}
	head = bytes.TrimSuffix(append([]byte("{"), bytes.TrimPrefix(head, []byte(`{"schema":"`+render.Schema+`",`))...), []byte("}"))
	said, err := text(b.line(e, c, o))
	if err != nil {
		return nil, err
	}
	out := &row{sum: sumOf(e, c), ofHead: len(shared.ids), ids: shared.ids, head: append(append(head, `,"line":`...), said...)}
	out.head = shared.member(out.head, "shared")
	if whole && e.Message != nil {
		parts := &refs{}
		b.share(&message.Root, parts)
		out.body = append([]byte(`,"message":`), treeText(&message.Root)...)
		out.body = lists.member(parts.member(out.body, "parts"), "lists")
		out.ids = slices.Concat(out.ids, parts.ids, lists.ids)
	}
	return out, nil
}

// line is what stands in the columns of watch, where that is not what the entry has
// itself, and on the arrow of a ladder.
type line struct {
	Client  string `json:"client,omitempty"`
	What    string `json:"what,omitempty"`
	Version string `json:"version,omitempty"`
	Res     string `json:"res,omitempty"`
	Summary string `json:"summary,omitempty"`
	Sign    string `json:"sign,omitempty"`
	Label   string `json:"label,omitempty"` // none: watch has no line for it
}

func (b *builder) line(e *session.Entry, c *check.Change, o *render.Object) line {
	cells := b.table.Cells(e, c)
	l := line{cells[2], cells[4], cells[5], cells[6], b.table.Words(e, c), "", ""}
	for _, same := range []struct{ cell, own *string }{{&l.Client, &o.Client}, {&l.What, &o.What}, {&l.Version, &o.Version}} {
		if *same.cell == *same.own {
			*same.cell = ""
		}
	}
	drawn := b.ladder.Len()
	if b.ladder.Add(e, c); b.ladder.Len() > drawn {
		l.Sign, l.Label = b.ladder.Last()
	}
	return l
}

// move takes what is long and can repeat out of an object: texts, and lists of names,
// which are kept only where there is room for the message.
func (b *builder) move(o *render.Object, shared, lists *refs, room bool) error {
	for _, m := range []struct {
		name string
		of   *string
	}{{"method", &o.Method}, {"type_url", &o.TypeURL}} {
		if n := len(*m.of); n <= longText || n > longerText {
			continue
		}
		json, err := text(*m.of)
		if err != nil {
			return err
		}
		shared.name(m.name)
		shared.in(b.pool, json)
		*m.of = ""
	}
	for _, m := range []struct {
		name string
		of   *[]string
	}{{"names", &o.Names}, {"added", &o.Added}, {"removed", &o.Removed}} {
		if len(*m.of) <= longList {
			continue
		}
		if room {
			json, err := text(*m.of)
			if err != nil {
				return err
			}
			lists.name(m.name)
			lists.in(b.pool, json)
		}
		*m.of = nil
	}
	return nil
}

// share moves the long members of a message into the pool. In their places stays a
// null.
func (b *builder) share(message *document.Tree, r *refs) {
	for i := range message.Members {
		m := &message.Members[i]
		if m.Value.Kind != document.Object && m.Value.Kind != document.Array {
			continue
		}
		if json := treeText(&m.Value); len(json) < smallPiece {
			continue
		} else if r.name(m.Name); m.Name != "resources" || m.Value.Kind != document.Array {
			r.in(b.pool, json)
		} else {
			r.text.WriteByte('[')
			for j := range m.Value.Items {
				if j > 0 {
					r.text.WriteByte(',')
				}
				r.in(b.pool, treeText(&m.Value.Items[j]))
			}
			r.text.WriteByte(']')
		}
		m.Value = document.Tree{Kind: document.Word, Text: "null"}
	}
}
