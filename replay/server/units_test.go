package server

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// source gives a list of entries, one after the other.
type source []session.Entry

func (s *source) Next(context.Context) (session.Entry, error) {
	if len(*s) == 0 {
		return session.Entry{}, io.EOF
	}
	e := (*s)[0]
	*s = (*s)[1:]
	return e, nil
}

// serverOf is one that plays a script and at which nobody is yet.
func serverOf(t *testing.T, text string) *server {
	t.Helper()
	sc, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all := source(slices.Collect(sc.Entries()))
	plan, err := replay.Read(t.Context(), &all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plan.Close() })
	s := &server{plan: plan, ledger: replay.NewLedger(nil, nil), keys: standin.New()}
	groups := replay.Groups{}
	for _, st := range plan.Streams {
		p := &part{Stream: st, server: s, Member: groups.Join(st)}
		p.begin()
		s.parts = append(s.parts, p)
	}
	for _, of := range plan.Pollings {
		s.pollings = append(s.pollings, &polling{Polling: of, server: s, Member: groups.Join(of.Stream)})
	}
	return s
}

// A response is left without an answer for the time to the next of its type, or to the
// end, if that is long enough, and no silence.
func TestUnanswered(t *testing.T) {
	const begins = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n"
	in := func(d time.Duration, what string) string { return fmt.Sprintf("t=+%s %s\n", d, what) }
	const second = "S< type=CDS V=2 N=b res=[c1#2]"
	for name, c := range map[string]struct {
		script string
		want   []time.Duration // of each response
	}{
		"just long enough":        {begins + in(replay.Grace, second), []time.Duration{replay.Grace, 0}},
		"not long enough":         {begins + in(replay.Grace-1, second), []time.Duration{0, 0}},
		"to the end":              {begins + in(replay.Grace+5, "-- tick"), []time.Duration{replay.Grace + 5}},
		"both":                    {begins + in(replay.Grace+1, second) + in(replay.Grace+2, "-- tick"), []time.Duration{replay.Grace + 1, replay.Grace + 2}},
		"answered":                {begins + in(replay.Grace, "C> type=CDS V=1 N=a R=[]"), []time.Duration{0}},
		"a silence":               {begins + in(time.Hour, "-- tick"), []time.Duration{0}},
		"another type in between": {begins + "C> type=LDS V= N= R=[]\n" + in(time.Second, "S< type=LDS V=1 N=l res=[l1]") + in(replay.Grace, "-- tick"), []time.Duration{replay.Grace + time.Second}},
	} {
		p := serverOf(t, c.script).parts[0]
		var got []time.Duration
		for n := range p.Topics[0].Responses {
			got = append(got, p.unanswered(p.Topics[0], n))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if p.Partial = true; p.unanswered(p.Topics[0], 0) != 0 {
			t.Errorf("%s: the answer may only not have been recorded", name)
		}
	}
}

// A content waits for the polls that came before it, as long as its client's polls move,
// and once only.
func TestPollThatWaits(t *testing.T) {
	s := serverOf(t, `
P> path=/v3/discovery:clusters type=CDS V= node=n1
P> path=/v3/discovery:listeners type=LDS V= node=n1
p< 200 type=LDS V=1 res=[l1]
`)
	p := s.pollings[1]
	if p.Method.Type != "LDS" || !p.Turns[0].Reply.News {
		t.Fatalf("%+v", p.Turns)
	}
	now := time.Now()
	still := func(d time.Duration) time.Time { return now.Add(d - p.Group.Still(now)) }
	for _, c := range []struct{ still, want time.Duration }{
		{0, patience}, {patience - 1, 1}, {patience, 0}, {0, 0},
	} {
		if got, leave := p.wait(still(c.still)); got != c.want || leave != nil {
			t.Errorf("nothing has moved for %v: it waits for %v, want %v", c.still, got, c.want)
		}
	}
}

// At a pace a reply waits for its time, and step by step a content waits for leave.
func TestPollAtAPace(t *testing.T) {
	const twice = `
P> path=/v3/discovery:clusters type=CDS V= node=n1
t=+3s p< 200 type=CDS V=1 res=[c1]
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
t=+4s p< 304
`
	s := serverOf(t, twice)
	p := s.pollings[0]
	now := time.Now()
	p.begun = now
	recorded, err := replay.ParsePace("recorded")
	if err != nil {
		t.Fatal(err)
	}
	bySteps, err := replay.ParsePace("step")
	if err != nil {
		t.Fatal(err)
	}
	step := make(chan struct{})
	s.o.Step = step
	for at, want := range []time.Duration{3*time.Second - 2, 7*time.Second - 2} {
		p.at = at
		s.o.Pace = recorded
		if got, leave := p.wait(now.Add(2)); got != want || leave != nil {
			t.Errorf("turn %d waits for %v, want %v", at, got, want)
		}
		s.o.Pace = replay.Pace{}
		if got, leave := p.wait(now.Add(2)); got != 0 || leave != nil {
			t.Errorf("turn %d waits for %v without a pace", at, got)
		}
		s.o.Pace = bySteps
		if got, leave := p.wait(now); got != 0 || (leave != nil) != p.Turns[at].Reply.News {
			t.Errorf("turn %d waits for leave: %v", at, leave != nil)
		}
	}
}

// What a client asks for that the recorded one did not is told by type.
func TestUnanswerable(t *testing.T) {
	p := serverOf(t, "C> type=EDS V= N= R=[a] node=n1\nS< type=EDS V=1 N=a res=[a]\nC> type=LDS V= N= R=[l]\n").parts[0]
	p.topics[0].live.Change([]string{"a"}, nil)
	if got := p.unanswerable(); len(got) != 0 {
		t.Errorf("the same: %q", got)
	}
	p.topics[0].live.Change([]string{"b"}, nil)
	p.topics[1].live.Change([]string{"m"}, nil)
	for requests, want := range []string{"", `EDS "b"`} {
		p.topics[0].requests = requests
		if got := strings.Join(p.unanswerable(), "; "); got != want {
			t.Errorf("%d requests: %q, want %q", requests, got, want)
		}
	}
}

// A rejection of a response that has no answer in the recording is a difference if it
// is known that there was none: if the client kept silent, or answered a later one.
func TestRejectsUnanswered(t *testing.T) {
	const (
		first = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n"
		again = "C> type=CDS V= N=a R=[] err=\"c1: is bad\"\nt=+10ms S< type=CDS V=1 N=b res=[c1]\n"
		later = "S< type=CDS V=2 N=b res=[c2]\nC> type=CDS V=2 N=b R=[]\n"
	)
	for name, c := range map[string]struct {
		script     string
		nth        int // of the responses
		partial    bool
		difference bool
	}{
		"the last":                    {first, 0, false, false},
		"the last round of a loop":    {first + again, 1, false, false},
		"it answered a later one":     {first + later, 0, false, true},
		"it kept silent":              {first + "t=+1h -- tick\n", 0, false, true},
		"of which a part is missing":  {first + later, 0, true, false},
		"of two, the last is unknown": {first + "S< type=CDS V=2 N=b res=[c2]\n", 1, false, false},
	} {
		s := serverOf(t, c.script)
		p := s.parts[0]
		p.Partial = c.partial
		rejected := &decode.Message{Error: &decode.Error{Message: "c1: is bad"}}
		for n, r := range p.Topics[0].Responses {
			p.saidAt[r] = 1
			if n == c.nth || n < c.nth && p.Steps[r].Verdict == replay.NACKed {
				p.judge(t.Context(), 0, r, replay.NACKed, rejected)
			}
		}
		report := s.ledger.Report(nil)
		notes := strings.Join(report.Notes, "\n")
		if report.Differs() != c.difference || strings.Contains(notes, "is not known: c1: is bad") == c.difference {
			t.Errorf("%s: %v, notes %q", name, report.Differences, notes)
		}
	}
}

// Names that a client begins to ask for after the end are told, if it is known that the
// recorded one did not.
func TestReceiveLate(t *testing.T) {
	for name, c := range map[string]struct {
		added    []string
		partial  bool
		requests int
		want     string
	}{
		"others":            {[]string{"a", "b", "c"}, false, 1, `no request for "b", "c"`},
		"nothing":           {nil, false, 1, ""},
		"the same":          {[]string{"a"}, false, 1, ""},
		"not recorded":      {[]string{"b"}, true, 1, ""},
		"nobody asked then": {[]string{"b"}, false, 0, ""},
	} {
		s := serverOf(t, "C> type=EDS V= N= R=[a] node=n1\nS< type=EDS V=1 N=a res=[a]\n")
		p := s.parts[0]
		p.Partial = c.partial
		p.receiveLate(&p.topics[0], &replay.Topic{Type: "EDS", Requests: c.requests}, c.added)
		got := ""
		for _, d := range s.ledger.Report(nil).Differences {
			got += d.Expected
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The names that a response needs are found once, however often it is looked at. What was
// not given waits for the next one.
func TestPrepare(t *testing.T) {
	p := serverOf(t, `
C> type=EDS V= N= R=[a,b] node=n1
S< type=EDS V=1 N=a res=[a]
C> type=EDS V=1 N=a R=[a,b,c]
S< type=EDS V=2 N=b res=[a,b,c]
`).parts[0]
	at := &p.topics[0]
	for n, want := range []string{"[a] [b]", "[b c] []"} {
		at.next = n
		for range 3 {
			p.prepare(p.Topics[0].Responses[n])
			if got := fmt.Sprint(at.need, at.pending); got != want {
				t.Errorf("response %d needs, and leaves: %s, want %s", n, got, want)
			}
		}
	}
}

// A reply in which nothing has to be another is said byte for byte, and so is one that
// cannot be read, which is told.
func TestReplyIsSaidAgain(t *testing.T) {
	for body, note := range map[string]string{
		`res=[c1]`: "", `body="{\"resources\": 1}"`: "is sent as it was recorded, with masks and addresses",
	} {
		s := serverOf(t, "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 200 type=CDS V=1 "+body+"\n")
		p := s.pollings[0]
		turn := &p.Turns[0]
		recorded, err := s.plan.Body(t.Context(), turn.Reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, masked := range []bool{false, true} {
			turn.Reply.Masked = masked
			got, err := p.said(t.Context(), turn)
			if err != nil || string(got) != string(recorded) {
				t.Errorf("%s: %s, %v", body, got, err)
			}
			notes := strings.Join(s.ledger.Report(nil).Notes, "\n")
			if !masked && notes != "" || masked && (!strings.Contains(notes, note) || (notes == "") != (note == "")) {
				t.Errorf("%s, masked %v: %q", body, masked, notes)
			}
		}
	}
}

func TestVerdictOfAPoll(t *testing.T) {
	for says, want := range map[replay.Claim]string{replay.HasNewest: "ACK", replay.HasNothing: "no ACK", replay.HasOther: "no ACK"} {
		if got := verdictOf(says); got != want {
			t.Errorf("%d: %s", says, got)
		}
	}
}
