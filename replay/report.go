package replay

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxDifferences is how many a Report lists; the others are counted.
const maxDifferences = 1000

// Difference is one thing that was not as it was recorded.
type Difference struct {
	Seq      session.Seq `json:"seq"`               // what was recorded: of an answer, the answer
	Answers  session.Seq `json:"answers,omitempty"` // of an answer, the response
	Expected string      `json:"expected"`
	Got      string      `json:"got"`
	Detail   string      `json:"detail"` // a sentence
	Stream   uint64      `json:"stream,omitempty"`
	Client   string      `json:"client,omitempty"`
	Type     string      `json:"type,omitempty"`
	Names    []string    `json:"names,omitempty"`
}

// String is the difference as a person reads it.
func (d Difference) String() string {
	s := fmt.Sprintf("expected %s, got %s", d.Expected, d.Got)
	if d.Detail != "" {
		s += ": " + d.Detail
	}
	return s
}

// Where is what a difference is about, such as "entry 7, the answer to entry 6".
func (d Difference) Where() string {
	switch {
	case d.Answers > 0 && d.Seq == d.Answers:
		return fmt.Sprintf("the answer to entry %d", d.Answers)
	case d.Answers > 0:
		return fmt.Sprintf("entry %d, the answer to entry %d", d.Seq, d.Answers)
	case d.Seq > 0:
		return fmt.Sprintf("entry %d", d.Seq)
	}
	return "not recorded"
}

const AnotherContent = "another content"

// Change is the same for contents that have changed in the same way; "" if a
// difference is none of contents, or it is not known how they have changed.
func (d Difference) Change() string {
	if d.Got != AnotherContent || d.Detail == "" {
		return ""
	}
	return d.Type + "\n" + d.Detail
}

// Report is what came of a replay.
type Report struct {
	// Streams is how many recorded streams were played.
	Streams int `json:"streams"`
	// Expected is how much the other end was expected to do. Against a client:
	// an ACK or a NACK for each response that had one, silence where it
	// kept silent, and the names that it
	// asks for, once for each type on each stream. Against a server: the
	// contents of each response.
	Expected int `json:"expected"`
	Sent     int `json:"sent"`     // messages
	Received int `json:"received"` // messages
	Matched  int `json:"matched"`  // of Expected, what was as recorded

	Differences []Difference `json:"differences"`
	More        int          `json:"more_differences,omitempty"` // that are not listed
	Notes       []string     `json:"notes,omitempty"`
	// TurnedAway is why the first client that came and was not played was none of
	// the recording.
	TurnedAway string   `json:"turned_away,omitempty"`
	Played     []Played `json:"played,omitempty"`
}

// Played is what became of one recorded stream.
type Played struct {
	Stream   uint64 `json:"stream"`
	Client   string `json:"client,omitempty"`
	Variant  string `json:"variant"`
	Type     string `json:"type,omitempty"`
	Begun    bool   `json:"begun"`
	By       string `json:"by,omitempty"` // another client that plays it
	Sent     int    `json:"sent"`
	ToSend   int    `json:"to_send"`
	Matched  int    `json:"matched"`
	Expected int    `json:"expected"`
}

// Row is the row of a stream, of which nothing has happened yet.
func (s *Stream) Row() Played {
	return Played{Stream: uint64(s.ID), Client: s.Client, Variant: string(s.Method.Variant), Type: s.Method.Type}
}

// Difference completes a difference by where it is.
func (s *Stream) Difference(d Difference) Difference {
	d.Stream, d.Client = uint64(s.ID), s.Client
	return d
}

// Differs says whether anything was not as recorded.
func (r *Report) Differs() bool { return len(r.Differences)+r.More > 0 }

// Ledger is a Report while it is written, by several goroutines.
type Ledger struct {
	mu    sync.Mutex
	r     Report
	noted map[string]bool // notes and changes
	Say   func(string)    // not nil
}

func NewLedger(notes []string, say func(string)) *Ledger {
	if say == nil {
		say = func(string) {}
	}
	l := &Ledger{noted: map[string]bool{}, Say: say}
	l.r.Notes = slices.Clone(notes)
	l.r.Differences = []Difference{}
	return l
}

func (l *Ledger) Sent()     { l.mu.Lock(); l.r.Sent++; l.mu.Unlock() }
func (l *Ledger) Received() { l.mu.Lock(); l.r.Received++; l.mu.Unlock() }

func (l *Ledger) TurnedAway(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.r.TurnedAway == "" {
		l.r.TurnedAway = why
	}
}

// Note enters a sentence, once.
func (l *Ledger) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	fresh := !l.noted[text] && len(l.r.Notes) < 2*maxNotes
	if fresh {
		l.noted[text] = true
		l.r.Notes = append(l.r.Notes, text)
	}
	l.mu.Unlock()
	if fresh {
		l.Say(text)
	}
}

// Differ enters a difference.
func (l *Ledger) Differ(d Difference) {
	d.Detail = clip.Text(d.Detail, 4096)
	l.mu.Lock()
	listed := len(l.r.Differences) < maxDifferences
	fresh := listed && !l.noted[d.Change()]
	if listed {
		if change := d.Change(); change != "" {
			l.noted[change] = true
		}
		l.r.Differences = append(l.r.Differences, d)
	} else {
		l.r.More++
	}
	l.mu.Unlock()
	if fresh {
		l.Say(d.Where() + ": " + d.String())
	}
}

// Report closes the account.
func (l *Ledger) Report(played []Played) *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.r
	r.Played = played
	for _, p := range played {
		r.Matched += p.Matched
		r.Expected += p.Expected
		if p.Begun {
			r.Streams++
		}
	}
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return cmp.Compare(a.Seq, b.Seq) })
	return &r
}

// Wrong tells of a fault as it is done.
func (l *Ledger) Wrong(o *Options, f *fault.Fault, format string, args ...any) {
	text := fmt.Sprintf("on purpose (%s): ", f) + fmt.Sprintf(format, args...)
	if o.Wrong != nil {
		o.Wrong(text)
	}
	l.Note("%s", text)
}
