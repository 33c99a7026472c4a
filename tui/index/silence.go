package index

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Silence is a note in the log by which a person says to know of what a rule
// found. About is the entry that proved it last, by then.
type Silence struct {
	Rule         string
	About        session.Seq
	Client, Type string // of that entry
}

// maxSilences bounds the notes that are remembered.
const maxSilences = 1 << 12

func (x *Index) silence(e *session.Entry) {
	if e.Kind != session.KindNote || e.Note == nil || e.Note.Code != session.NoteSilenced || len(x.silences) >= maxSilences {
		return
	}
	s := Silence{Rule: e.Note.Text, About: e.Note.About}
	if i := x.find(s.About); i < x.n && x.row(i).Seq == s.About {
		r := x.row(i)
		s.Client, s.Type = x.clientOf(r), x.kinds.list[r.typ]
	}
	x.silences = append(x.silences, s)
}

// Silences are the notes so far.
func (x *Index) Silences() []Silence {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.silences[:len(x.silences):len(x.silences)]
}

// Silenced says whether one of the notes is about a finding: it names its rule,
// and an entry that is one of those involved, or between the first and the last
// of them and of the same type and one of its clients.
func Silenced(f *check.Finding, all []Silence) bool {
	return slices.ContainsFunc(all, func(s Silence) bool {
		if s.Rule != f.Rule.ID {
			return false
		}
		if s.About == f.LastSeq || slices.Contains(f.Seqs, s.About) {
			return true
		}
		return len(f.Seqs) > 0 && f.Seqs[0] <= s.About && s.About < f.LastSeq && s.Type == f.Type &&
			(s.Client == f.Client || slices.Contains(f.Clients, s.Client))
	})
}
