package view

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Seen is what the checker knew when it was asked last.
type Seen struct {
	Generation uint64
	At         time.Time // by the clock of the log
	Asked      time.Time // by ours
	Standing   []engine.ClientStatus
	Findings   []check.Finding // each of one client
	Folded     []check.Finding // each of one cause
	Known      map[int]bool    // causes that the screen alone holds silent
	Names      *shortname.Set  // of clients
	// Effects are how much of what they were sent clients use; nil: nobody says so.
	Effects map[string]effect.Standing
}

// NamesOf are the names of clients, to be told apart; the ones that are there if
// these are the same. It takes as long as sorting them.
func NamesOf(standing []engine.ClientStatus, have *shortname.Set) *shortname.Set {
	all := make([]string, len(standing))
	for i := range standing {
		all[i] = render.Safe(standing[i].Client)
	}
	if have.Has(all) {
		return have
	}
	return shortname.New(all)
}

// Finding is the gravest finding that an entry proved.
func (s *Seen) Finding(seq session.Seq) *check.Finding {
	var best *check.Finding
	for i := range s.Findings {
		f := &s.Findings[i]
		if (f.LastSeq == seq || slices.Contains(f.Seqs, seq)) && (best == nil || f.Severity > best.Severity) {
			best = f
		}
	}
	return best
}

// Type is where a client stands with a type, nil if it does not ask for it.
func (s *Seen) Type(client, typ string) *engine.TypeStatus {
	for i := range s.Standing {
		if c := &s.Standing[i]; c.Client == client {
			for j := range c.Types {
				if c.Types[j].Type == typ {
					return &c.Types[j]
				}
			}
		}
	}
	return nil
}

// Clients are the clients by name.
func (s *Seen) Clients() []string {
	out := make([]string, len(s.Standing))
	for i := range s.Standing {
		out[i] = s.Standing[i].Client
	}
	return out
}

// Violations is how many findings are more than a note.
func (s *Seen) Violations() int {
	n, _ := s.violations()
	return n
}

// Gravity is the colour beside their number: that of the gravest.
func (s *Seen) Gravity() widget.Role {
	n, worst := s.violations()
	if n == 0 {
		return widget.Plain
	}
	return SeverityRole(worst)
}

func (s *Seen) violations() (n int, worst check.Severity) {
	for i := range s.Folded {
		if f := &s.Folded[i]; f.Severity > check.Info {
			n, worst = n+1, max(worst, f.Severity)
		}
	}
	return n, worst
}

// weighs says whether a finding is one to jump to.
func (s *Seen) weighs(f *check.Finding, silences []index.Silence) bool {
	return f.Severity > check.Info && !s.Known[f.Cause] && !index.Silenced(f, silences)
}

// After is the finding that was proved next after an entry, or else the
// first of all.
func (s *Seen) After(seq session.Seq, silences []index.Silence) (next *check.Finding, wrapped bool) {
	var first *check.Finding
	for i := range s.Findings {
		f := &s.Findings[i]
		if !s.weighs(f, silences) {
			continue
		}
		if first == nil || f.LastSeq < first.LastSeq {
			first = f
		}
		if f.LastSeq > seq && (next == nil || f.LastSeq < next.LastSeq || f.LastSeq == next.LastSeq && f.Severity > next.Severity) {
			next = f
		}
	}
	if next == nil {
		return first, first != nil
	}
	return next, false
}

// Gravest is the finding to begin with.
func (s *Seen) Gravest(silences []index.Silence) *check.Finding {
	var worst *check.Finding
	for i := range s.Findings {
		f := &s.Findings[i]
		if s.weighs(f, silences) && (worst == nil || f.Severity > worst.Severity || f.Severity == worst.Severity && f.LastSeq < worst.LastSeq) {
			worst = f
		}
	}
	return worst
}

// Judgement is how often the checker is asked, at most.
const Judgement = 250 * time.Millisecond
