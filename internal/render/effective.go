package render

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/effect"
)

// Effective is how far a client got with a resource, in its machine-readable form.
type Effective struct {
	State    string   `json:"state"`
	Why      string   `json:"why,omitempty"`
	Waits    []string `json:"waits,omitempty"`
	Removed  bool     `json:"removed,omitempty"` // what was sent last is that there is none
	Type     string   `json:"type,omitempty"`
	Name     string   `json:"name,omitempty"`
	Version  string   `json:"version,omitempty"`
	Accepted string   `json:"accepted,omitempty"`
	Since    string   `json:"effective,omitempty"` // the first that says so
	Seq      uint64   `json:"seq,omitempty"`       // the entry that says so
	// TookMS is from the acceptance to that, at most.
	TookMS *float64 `json:"took_ms,omitempty"`
}

func newEffective(e *effect.Effect) *Effective {
	out := &Effective{
		State: e.State.String(), Why: e.Why, Waits: e.Waits, Removed: e.Removed,
		Accepted: Timestamp(e.Accepted.At), Since: Timestamp(e.Effective.At), Seq: uint64(e.Effective.Seq),
	}
	if took, known := e.Took(); known {
		ms := float64(took) / float64(time.Millisecond)
		out.TookMS = &ms
	}
	return out
}

// EffectWord is how far a client got with a resource, in a column of nine: "yes 12ms",
// "warming", "-".
func EffectWord(e *effect.Effect) string {
	switch e.State {
	case effect.Unknown:
		return "-"
	case effect.InEffect:
		if took, known := e.Took(); known {
			return "yes " + Duration(took)
		}
		return "yes"
	case effect.Other:
		return "other"
	case effect.Absent:
		return "not there"
	}
	return e.State.String()
}

// EffectText says the same in a sentence. It holds names that peers chose, and is
// not safe on a terminal.
func EffectText(e *effect.Effect, now time.Time) string {
	what := e.Type + " " + e.Name
	if e.Removed {
		what += " was removed"
	}
	if e.Accepted.Known() && !e.Accepted.At.IsZero() {
		what += ", accepted " + Age(now.Sub(e.Accepted.At)) + " ago"
	}
	return what + ": " + EffectReason(e)
}

// EffectReason is what a resource that is not in effect waits for, or why it is not.
func EffectReason(e *effect.Effect) string {
	text := map[effect.State]string{
		effect.Unknown:  "it cannot be told whether it is in effect",
		effect.InEffect: "in effect",
		effect.Warming:  "warming, not in effect yet",
		effect.Draining: "draining",
		effect.Other:    "the client uses another content",
		effect.Absent:   "the client does not have it",
		effect.Failed:   "rejected",
	}[e.State]
	if e.State == effect.InEffect {
		if took, known := e.Took(); known {
			text += " at most " + Duration(took) + " after it was accepted"
		}
	}
	if e.State == effect.Other && e.Removed {
		text = "the client still uses it"
	}
	if len(e.Waits) > 0 {
		text += ", waits for " + strings.Join(e.Waits, ", ")
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// EffectOf is how a client stands, in a column: "yes", "no CDS", "-".
func EffectOf(s *effect.Standing) string {
	switch s.Answer() {
	case "yes":
		return "yes"
	case "no":
		return strings.TrimSpace("no " + Safe(s.Worst()))
	}
	return "-"
}
