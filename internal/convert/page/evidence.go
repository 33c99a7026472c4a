package page

import (
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// evidence is what shows a finding.
type evidence struct {
	Finding   int           `json:"finding"` // its place in the list
	Seqs      []session.Seq `json:"seqs"`
	Resources []compared    `json:"resources,omitempty"`
	LeftOut   int           `json:"left_out,omitempty"` // resources for which there was no room
}

// compared is a resource as the client was sent it, against what it had accepted.
type compared struct {
	Type    string              `json:"type"`
	Name    string              `json:"name"`
	Sent    string              `json:"sent"` // "rejected", or "sent"
	Now     render.VersionJSON  `json:"now"`
	Before  *render.VersionJSON `json:"before"` // null: it had accepted none
	Content *int                `json:"content,omitempty"`
	Same    bool                `json:"same,omitempty"`
	Large   bool                `json:"too_large,omitempty"` // to be compared
	// Changes are those of diff -o json; there are none if they are long.
	Changes []render.ChangeJSON `json:"changes,omitempty"`
	Lines   []diffLine          `json:"lines,omitempty"`
	More    bool                `json:"more_lines,omitempty"`
}

// diffLine is one line of the difference, as diff prints it.
type diffLine struct {
	Sign   string `json:"sign,omitempty"`
	Indent int    `json:"indent,omitempty"`
	Text   string `json:"text"`
	Note   string `json:"note,omitempty"`
	Equal  int    `json:"equal,omitempty"`
}

func (b *builder) evidence() ([]evidence, error) {
	out, room := []evidence{}, maxEvidence
	for i, f := range b.told.Findings {
		if len(f.Shown) == 0 {
			continue
		}
		one := evidence{Finding: i, Seqs: f.Shown}
		for _, c := range f.Compared() {
			r := b.compare(&c)
			json, err := text(r)
			if err != nil {
				return nil, err
			}
			if room -= len(json); room < 0 {
				one.LeftOut++
				continue
			}
			one.Resources = append(one.Resources, r)
		}
		out = append(out, one)
	}
	return out, nil
}

func (b *builder) compare(c *convert.Compared) compared {
	versions := func(v history.Version) *render.VersionJSON { return &render.NewVersions([]history.Version{v})[0] }
	out := compared{Type: c.Type, Name: c.Name, Sent: c.Sent(), Now: *versions(c.Now)}
	if body := treeText(&c.Body.Root); len(body) <= maxPiece && b.pool.size+b.bodies+len(body) < b.bounds.bodies+maxEvidence {
		id := b.pool.add(body)
		out.Content = &id
	}
	if c.Before == nil {
		return out
	}
	out.Before = versions(*c.Before)
	if c.Diff == nil {
		out.Large = true
		return out
	}
	if out.Same = c.Diff.Same(); out.Same {
		return out
	}
	size := 0
	for l := range render.DiffLines(c.Diff, equalLines) {
		if size += len(l.Text) + l.Indent + overhead; len(out.Lines) >= maxLines || size > maxChanges {
			out.More = true
			break
		}
		sign := string(l.Sign)
		if l.Sign == ' ' {
			sign = ""
		}
		out.Lines = append(out.Lines, diffLine{sign, l.Indent, l.Text, l.Note, l.Equal})
	}
	changes := render.NewChanges(c.Diff)
	size = 0
	for i := range changes {
		size += len(changes[i].Path) + len(changes[i].Old) + len(changes[i].New) + overhead
	}
	if size <= maxChanges {
		out.Changes = changes
	}
	return out
}
