package tui

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// snapshot is what the checker knew when it was asked last.
type snapshot struct {
	generation uint64
	at         time.Time // by the clock of the log
	asked      time.Time // by ours
	standing   []engine.ClientStatus
	findings   []check.Finding // each of one client
	folded     []check.Finding // each of one cause
	known      map[int]bool    // causes that the screen alone holds silent
}

// findingOf is the gravest finding that an entry proved.
func (s *snapshot) findingOf(seq session.Seq) *check.Finding {
	var best *check.Finding
	for i := range s.findings {
		f := &s.findings[i]
		if (f.LastSeq == seq || slices.Contains(f.Seqs, seq)) && (best == nil || f.Severity > best.Severity) {
			best = f
		}
	}
	return best
}

// typeOf is where a client stands with a type, nil if it does not ask for it.
func (s *snapshot) typeOf(client, typ string) *engine.TypeStatus {
	for i := range s.standing {
		if c := &s.standing[i]; c.Client == client {
			for j := range c.Types {
				if c.Types[j].Type == typ {
					return &c.Types[j]
				}
			}
		}
	}
	return nil
}

// clientNames are the clients by name.
func (s *snapshot) clientNames() []string {
	out := make([]string, len(s.standing))
	for i := range s.standing {
		out[i] = s.standing[i].Client
	}
	return out
}

// violationCount is how many findings are more than a note.
func (s *snapshot) violationCount() int {
	n := 0
	for i := range s.folded {
		if s.folded[i].Severity > check.Info {
			n++
		}
	}
	return n
}

// weighs says whether a finding is one to jump to.
func (s *snapshot) weighs(f *check.Finding, silences []index.Silence) bool {
	return f.Severity > check.Info && !s.known[f.Cause] && !index.Silenced(f, silences)
}

// findingAfter is the finding that was proved next after an entry, or else the
// first of all.
func (s *snapshot) findingAfter(seq session.Seq, silences []index.Silence) (next *check.Finding, wrapped bool) {
	var first *check.Finding
	for i := range s.findings {
		f := &s.findings[i]
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

// gravest is the finding to begin with.
func (s *snapshot) gravest(silences []index.Silence) *check.Finding {
	var worst *check.Finding
	for i := range s.findings {
		f := &s.findings[i]
		if s.weighs(f, silences) && (worst == nil || f.Severity > worst.Severity || f.Severity == worst.Severity && f.LastSeq < worst.LastSeq) {
			worst = f
		}
	}
	return worst
}
