package shadow

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// The words for what an Event tells.
const (
	Began      = "began"      // the shadow has come to the present, and asks
	Differs    = "difference" // a difference that stands
	Settled    = "settled"    // one that has healed, and counts no more
	Noise      = "noise"      // a field that differs between two of the present version
	Trouble    = "trouble"    // a target does not do what is asked
	Back       = "back"       // it does again
	Behind     = "behind"     // it is slow
	CaughtUp   = "caught-up"
	Noted      = "note"
	Summarized = "summary"
)

// Event is something that the shadow saw.
type Event struct {
	Time time.Time `json:"time"`
	What string    `json:"event"`
	Text string    `json:"text"` // a sentence
	*Difference
	*Summary `json:"summary,omitempty"`
}

// side is what one server has given of a resource.
type side struct {
	Hash  [16]byte
	There bool
}

// tellKey is what makes a difference the same for every client that has it.
type tellKey struct {
	typ, name string
	all       bool // that the client wants of the type, and not the one of the name
	a, b      side
}

// Difference is a resource of which the target gives another content than the
// live server gave, and how many streams have it.
type Difference struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Client string `json:"client"` // the first
	Stream uint64 `json:"stream"`
	// Streams is how many had it at one time.
	Streams int `json:"streams"`
	// Seq is an entry that has what the live server gave; 0 if it gave nothing.
	Seq session.Seq `json:"seq,omitempty"`
	// Got is what the target has instead, Detail a line for each field.
	Got    string    `json:"got"`
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"` // when both had said what they say
	// Stands says that it does still.
	Stands bool `json:"stands"`

	key       tellKey
	keys      []tellKey    // by which it is known
	on        map[*leg]int // with how many resources
	listed    bool         // else it is only counted
	withdrawn bool         // it counts no more, and is not listed
	weighed   int          // when so many fields were noise
}

// Summary is what came of a shadow.
type Summary struct {
	Streams int `json:"streams"` // that were asked
	Clients int `json:"clients"` // whose they were
	Answers int `json:"answers"` // of the live server, on these
	// Compared is how often what the live server had given of a type was held
	// against the target's: when a stream is met, and for each answer after that;
	// once for several that came before the target had followed.
	Compared int `json:"compared"`
	Settled  int `json:"settled"` // differences that healed
	Subtract int `json:"noise"`   // that were noise
	Untold   int `json:"untold"`  // of which that is not known, since contents were let go
	Skipped  int `json:"skipped"` // streams that the target was not asked, or not to the end
	Again    int `json:"again"`   // times that a stream was opened again, and answered
	// Fields are those that are noise, by type.
	Fields      []string     `json:"noise_fields,omitempty"`
	Differences []Difference `json:"differences"`
	// Undecided are resources of which it is not known whether they differ, and why:
	// a sentence for those of a type.
	Undecided []string `json:"undecided,omitempty"`
	More      int      `json:"more_differences,omitempty"` // that are not listed
}

// Different says whether a difference stood.
func (s *Summary) Different() bool { return len(s.Differences)+s.More > 0 }

const (
	maxTold    = 1000    // differences that are listed at one time, and sentences of a kind that are told in a minute
	maxUnlike  = 1 << 17 // resources that are unlike at one time
	maxStreams = 1 << 14
	maxNodes   = 64 << 20 // bytes of all nodes
)

// report is a Summary while it is written, and what is told meanwhile.
type report struct {
	to      func(Event)
	sum     Summary
	said    map[string]*sentences // what is told once, by format
	clients map[string]bool
	list    []*Difference   // that count
	noise   map[string]bool // fields
}

func newReport(to func(Event)) report {
	return report{to: to, said: map[string]*sentences{}, clients: map[string]bool{}, noise: map[string]bool{}}
}

func (s *report) event(what, format string, args ...any) {
	s.tell(Event{What: what, Text: fmt.Sprintf(format, args...)})
}

func (s *report) tell(e Event) {
	e.Time = time.Now()
	s.to(e)
}

// sentences are those of a kind that were told, since when, and that there were more.
type sentences struct {
	texts map[string]bool
	since time.Time
	full  bool
}

// once tells something for the first time. A sentence that is due again and again, for
// very many streams, neither floods what is told nor keeps those of other kinds from it:
// of a kind, which is its format, maxTold are told in a minute. After that it begins anew.
func (s *report) once(what, format string, args ...any) {
	text, now := fmt.Sprintf(format, args...), time.Now()
	of := s.said[format]
	switch {
	case of != nil && of.texts[text]:
		return
	case of == nil, len(of.texts) >= maxTold && now.Sub(of.since) >= time.Minute:
		of = &sentences{texts: map[string]bool{}, since: now}
		s.said[format] = of
	case len(of.texts) >= maxTold:
		if !of.full {
			of.full = true
			s.event(what, "more than %d sentences of one kind in a minute: the others are left out; the first is: %s", maxTold, text)
		}
		return
	}
	of.texts[text] = true
	s.event(what, "%s", text)
}

// meet counts a client, as long as those before it are few enough to be told apart.
func (s *report) meet(client string) {
	if client = engine.Short(client); s.clients[client] || len(s.clients) < maxStreams {
		s.clients[client] = true
	} else {
		s.once(Noted, "more than %d clients: the others are not counted", maxStreams)
	}
}

// summary closes the account.
func (s *report) summary() *Summary {
	out := s.sum
	out.Clients = len(s.clients)
	out.Differences = []Difference{}
	for _, d := range s.list {
		d.Stands = len(d.on) > 0
		out.Differences = append(out.Differences, *d)
	}
	for f := range s.noise {
		out.Fields = append(out.Fields, f)
	}
	slices.Sort(out.Fields)
	return &out
}

// String is the summary in a line or two.
func (s *Summary) String() string {
	n := len(s.Differences) + s.More
	differences := count(n, "difference")
	switch {
	case s.Compared == 0 && n == 0:
		differences = "nothing was compared"
	case n == 0 && len(s.Undecided) > 0:
		differences = "not all decided"
	case n == 0:
		differences = "no difference"
	}
	text := fmt.Sprintf("%s of %s, %s, %d compared, %s; %d settled, %d noise, %s skipped, %d asked again",
		count(s.Streams, "stream"), count(s.Clients, "client"), count(s.Answers, "answer"), s.Compared, differences, s.Settled, s.Subtract, count(s.Skipped, "stream"), s.Again)
	if s.Untold > 0 {
		text += fmt.Sprintf("; of %d it is not known whether they are noise", s.Untold)
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
