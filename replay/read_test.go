package replay

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// A client that lets the time for an answer pass, and gives none, is silent: not when it is
// just that time, or when it said something of another response.
func TestSilent(t *testing.T) {
	const begins = "C> type=EDS V= N= R=[a] node=n1\nS< type=EDS V=1 N=a res=[a]\n"
	in := func(d time.Duration, what string) string { return fmt.Sprintf("t=+%s %s\n", d, what) }
	const most, over = 2 * engine.DefaultACK, 2*engine.DefaultACK + time.Millisecond
	for _, c := range []struct {
		name, script string
		want         []bool // of each response
	}{
		{"just in time", begins + in(most, "-- tick"), []bool{false}},
		{"too late", begins + in(over, "-- tick"), []bool{true}},
		{"the client left in time", begins + in(most, "-- client-end") + in(over, "-- tick"), []bool{false}},
		{"the client left too late", begins + in(over, "-- client-end"), []bool{true}},
		{"cut in time", begins + in(most, "-- cut by=server") + in(over, "-- tick"), []bool{false}},
		{"cut too late", begins + in(over, "-- cut by=server"), []bool{true}},
		{"answered late", begins + in(over, "C> type=EDS V=1 N=a R=[a]"), []bool{false}},
		{"answered, then nothing", begins + "C> type=EDS V=1 N=a R=[a]\n" + in(over, "-- tick"), []bool{false}},
		{"asked for more", begins + "C> type=EDS V= N= R=[a,b]\n" + in(over, "-- tick"), []bool{true}},
		{"asked for another type", begins + "C> type=LDS V= N= R=[l]\n" + in(over, "-- tick"), []bool{true}},
		{"a newer response", begins + "S< type=EDS V=2 N=b res=[a#2]\n" + in(over, "-- tick"), []bool{false, true}},
		{"answered the older response", begins + "S< type=EDS V=2 N=b res=[a#2]\nC> type=EDS V=1 N=a R=[a]\n" + in(over, "-- tick"), []bool{false, true}},
		{"nobody asked", "-- stream 1 node=n1\nS< type=EDS V=1 N=a res=[a]\n" + in(over, "-- tick"), []bool{false}},
	} {
		var got []bool
		for _, st := range planOfScript(t, c.script).Streams[0].Steps {
			if st.Server {
				got = append(got, st.Silent)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// How a stream ended, and which did.
func TestEnds(t *testing.T) {
	const two = "-- stream 1 node=n1\nC> type=CDS V= N= R=[] node=n1\n-- stream 2 node=n1\nC> type=LDS V= N= R=[] node=n1\n"
	for _, c := range []struct {
		name, script string
		want         string // side, code and message of each
	}{
		{"open", two, "- -"},
		{"by the server", two + "@1 -- server-end code=14 msg=away\n", "server/14/away -"},
		{"by the client", two + "@2 -- client-end code=8 msg=\"\"\n", "- client/-1/"},
		{"with its connection", two + "@1 -- disconnect by=server msg=gone\n", "server/-1/gone -"},
		{"first the stream, then its connection", two + "@2 -- server-end code=0\n@2 -- disconnect by=client msg=gone\n", "- server/0/"},
	} {
		var got []string
		for _, s := range planOfScript(t, c.script).Streams {
			if s.End == nil {
				got = append(got, "-")
				continue
			}
			got = append(got, fmt.Sprintf("%s/%d/%s", s.End.Side, s.End.Code, s.End.Message))
		}
		if said := strings.Join(got, " "); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
}

// The beginning of a stream that is repeated in a later segment begins nothing anew.
func TestOpenedAgain(t *testing.T) {
	for carried, want := range map[bool][]int{true: {3}, false: {2, 1}} {
		all := entriesOf(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n")
		i := slices.IndexFunc(all, func(e session.Entry) bool { return e.Kind == session.KindOpen })
		again := all[i]
		again.Carried, again.Time = carried, all[len(all)-1].Time
		p := planOf(t, slices.Insert(all, len(all)-1, again))
		var got []int
		for _, s := range p.Streams {
			got = append(got, len(s.Steps))
			if s.Opened != again.Seq {
				t.Errorf("opened with entry %d, want %d", s.Opened, again.Seq)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("carried %v: %v steps, want %v", carried, got, want)
		}
	}
}

// A gap that names as many streams as it can may be of all of them.
func TestGapOfManyStreams(t *testing.T) {
	for n, want := range map[int]bool{1023: false, 1024: true} {
		all := entriesOf(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n")
		last := all[len(all)-1]
		gap := session.Entry{Seq: last.Seq + 1, Time: last.Time, Kind: session.KindGap, Gap: &session.Gap{First: last.Seq + 1, Last: last.Seq + 1, Entries: 1}}
		for i := range n {
			gap.Gap.Streams = append(gap.Gap.Streams, session.StreamID(100+i))
		}
		if s := planOf(t, append(all, gap)).Streams[0]; s.Partial != want {
			t.Errorf("%d streams in a gap: partial %v, want %v", n, s.Partial, want)
		}
	}
}

// A stream has so many types. What is said of others is not played.
func TestTopicsAreBounded(t *testing.T) {
	script := "-- stream 1 node=n1\n"
	for i := range MaxTopics + 1 {
		script += fmt.Sprintf("C> type=type.googleapis.com/a.T%d V= N= R=[] node=n1\n", i)
	}
	s := planOfScript(t, script).Streams[0]
	if len(s.Topics) != MaxTopics || len(s.Steps) != MaxTopics || s.Topics[MaxTopics-1].TypeURL != fmt.Sprintf("type.googleapis.com/a.T%d", MaxTopics-1) {
		t.Errorf("%d topics, %d steps; want %d", len(s.Topics), len(s.Steps), MaxTopics)
	}
}

// Requests are counted, and which version they have is known.
func TestRequestsOfATopic(t *testing.T) {
	s := planOfScript(t, `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#bad]
C> type=CDS V=1 N=b R=[] err="no"
C> type=LDS V= N= R=[]
`).Streams[0]
	if a, b := s.Topics[0].Requests, s.Topics[1].Requests; a != 3 || b != 1 {
		t.Errorf("%d and %d requests", a, b)
	}
	var holds []bool
	for _, st := range s.Steps {
		holds = append(holds, st.Holds)
	}
	if want := []bool{false, false, true, false, false, false}; !slices.Equal(holds, want) {
		t.Errorf("the version is that of the response: %v, want %v", holds, want)
	}
}

// fullPlanner is one that has had so many messages and bytes already, of something that
// cannot be read again.
func fullPlanner(steps int, bytes int64) *planner {
	bodies := newBodies(nil)
	bodies.bytes = bytes
	return &planner{
		plan: &Plan{bodies: bodies}, engine: engine.New(engine.Options{Names: true}), open: map[session.StreamID]*openStream{},
		lists: map[uint64][]string{}, seed: maphash.MakeSeed(), steps: steps,
		polls: poller{map[*engine.Subscription]*polling{}, map[session.StreamID]*openPoll{}},
	}
}

const (
	oneUpdate = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n"
	twoPolls  = "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 200 type=CDS V=1 res=[c1]\nP> path=/v3/discovery:clusters type=CDS V=1 node=n1\np< 304\n"
)

// Messages of streams and polls count alike.
func TestMessagesAreCounted(t *testing.T) {
	for _, c := range []struct {
		script string
		left   int // room for so many
		steps  int // of streams
		turns  int
	}{
		{oneUpdate, 3, 3, 0},
		{oneUpdate, 2, 2, 0},
		{twoPolls, 2, 0, 2},
		{twoPolls, 1, 0, 1},
		{oneUpdate + twoPolls, 4, 3, 1},
		{twoPolls + oneUpdate, 4, 2, 2},
	} {
		p := fullPlanner(maxSteps-c.left, 0)
		for _, e := range entriesOf(t, c.script) {
			p.step(&e)
		}
		plan := p.finish()
		steps, turns := 0, 0
		for _, s := range plan.Streams {
			steps += len(s.Steps)
		}
		for _, of := range plan.Pollings {
			turns += len(of.Turns)
		}
		if cut := c.steps+c.turns < strings.Count(c.script, "C>")+strings.Count(c.script, "S<")+strings.Count(c.script, "P>"); steps != c.steps || turns != c.turns || p.cut != cut {
			t.Errorf("room for %d of\n%s%d steps, %d turns, cut %v; want %d, %d, %v", c.left, c.script, steps, turns, p.cut, c.steps, c.turns, cut)
		}
	}
}

// What comes through a pipe and is too much is an error, whoever said it.
func TestTooMuchThroughAPipe(t *testing.T) {
	for name, script := range map[string]string{"stream": oneUpdate, "poll": twoPolls} {
		for left, full := range map[int64]bool{1 << 20: false, 0: true} {
			p := fullPlanner(0, mostBodies-left)
			for _, e := range entriesOf(t, script) {
				p.step(&e)
			}
			if (p.full != nil) != full {
				t.Errorf("%s, with room for %d bytes: %v", name, left, p.full)
			}
		}
	}
}

// An entry that cannot be had does not keep others from being read again.
func TestBodyAfterAnError(t *testing.T) {
	file := sessionsDir + "/envoy-sotw.xdsp"
	s := newBodies(func() (*recorder.Reader, error) { return recorder.Open(file) })
	defer func() { _ = s.close() }()
	all := recordertest.Entries(t, file)
	first := all[slices.IndexFunc(all, func(e session.Entry) bool { return e.Message != nil })]
	if first.Seq > near {
		t.Fatalf("the first message is entry %d", first.Seq)
	}
	for range 2 {
		if _, err := s.body(t.Context(), all[len(all)-1].Seq+1); err == nil {
			t.Fatal("there is an entry after the last")
		}
		if b, err := s.body(t.Context(), first.Seq); err != nil || int64(len(b)) != first.Message.Size {
			t.Errorf("%d bytes, %v; want %d", len(b), err, first.Message.Size)
		}
	}
	gone := newBodies(func() (*recorder.Reader, error) { return nil, errors.New("is gone") })
	if _, err := gone.body(t.Context(), 1); err == nil || err.Error() != "is gone" {
		t.Error(err)
	}
}
