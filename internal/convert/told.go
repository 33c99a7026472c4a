package convert

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
)

// Told is what a report tells of a session, for a form that lays it out by
// itself. It is the account that the Markdown report is written from.
type Told struct {
	Result      Result
	First, Last time.Time
	Lost        uint64 // entries that were not recorded
	Part        bool   // of a longer recording
	Clients     []ToldClient
	Findings    []*ToldFinding // the worst first
	Count       [check.Error + 1]int
	Unlisted    int // findings
	beside      map[session.Seq]notes.Note
}

// ToldClient is who took part.
type ToldClient struct {
	ID, Agent                             string
	Streams, Messages, Accepted, Rejected int
}

// ToldFinding is a finding with what shows it.
type ToldFinding struct {
	*check.Finding
	Shown []session.Seq // what proves it and what explains that; none if there was no room
	Named []session.Seq // that Compared are from
	part  *part
}

// Tell walks twice, for what there is and for what explains it. It lists so many
// findings, and explains so many of them. Entries come a third time: see Meet.
func Tell(walk Walk, o *Report, listed, explained int) (*Told, error) {
	a, err := gather(walk, o, scope{check.Info, listed})
	if err != nil {
		return nil, err
	}
	t := &Told{Result: a.done, First: a.first, Last: a.last, Lost: a.lost, Part: a.cut, Count: a.count, Unlisted: a.unlisted, beside: a.beside(o)}
	for _, c := range a.sortedClients() {
		t.Clients = append(t.Clients, ToldClient{c.id, c.agent, len(c.streams), c.messages, c.acc, c.rejected})
	}
	parts := a.findings[:min(len(a.findings), explained)]
	if len(parts) > 0 {
		if err := explain(walk, parts); err != nil {
			return nil, err
		}
	}
	for i, p := range a.findings {
		f := &ToldFinding{Finding: p.finding, part: p}
		if i < len(parts) {
			for seq := range p.drawn {
				f.Shown = append(f.Shown, seq)
			}
			slices.Sort(f.Shown)
			for _, n := range p.named {
				for _, h := range []held{n.now, n.before} {
					if h.Version != nil {
						f.Named = append(f.Named, h.Seq)
					}
				}
			}
		}
		t.Findings = append(t.Findings, f)
	}
	return t, nil
}

// Note is what people left beside a chosen entry, in the recording and next to it.
func (t *Told) Note(seq session.Seq) notes.Note { return t.beside[seq] }

// Meet must be given every entry of a third walk.
func (t *Told) Meet(e *session.Entry, c *check.Change) {
	for _, f := range t.Findings {
		for _, n := range f.part.named {
			n.meet(e, c)
		}
	}
}

// Compared are the resources that the finding names, after all entries were met.
func (f *ToldFinding) Compared() []Compared {
	var out []Compared
	for _, n := range f.part.named {
		if c, met := n.compare(f.Finding); met {
			out = append(out, c)
		}
	}
	return out
}
