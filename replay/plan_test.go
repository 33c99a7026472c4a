package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entries gives a list of entries, one after the other.
type entries []session.Entry

func (s *entries) Next(context.Context) (session.Entry, error) {
	if len(*s) == 0 {
		return session.Entry{}, io.EOF
	}
	e := (*s)[0]
	*s = (*s)[1:]
	return e, nil
}

// entriesOf are those of a conversation script.
func entriesOf(t testing.TB, text string) (all entries) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		all = append(all, e)
	}
	return all
}

// planOf is the plan of these entries.
func planOf(t testing.TB, all entries) *Plan {
	t.Helper()
	p, err := Read(t.Context(), &all, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func planOfScript(t testing.TB, text string) *Plan { return planOf(t, entriesOf(t, text)) }

// tell writes a stream as the plan sees it: of each response what caused it and
// what became of it, of each request what it answers and asks for.
func tell(s *Stream) string {
	var b strings.Builder
	causes := Causes(s)
	for i := range s.Steps {
		st := &s.Steps[i]
		typ := s.Topics[st.Topic].Type
		if !st.Server {
			fmt.Fprintf(&b, "%d < %s", i, typ)
			if st.Answers {
				fmt.Fprintf(&b, " %s of %d", s.Steps[st.Echo].Verdict, st.Echo)
			}
			if len(st.Added)+len(st.Removed) > 0 {
				fmt.Fprintf(&b, " +%v -%v", st.Added, st.Removed)
			}
			b.WriteString("\n")
			continue
		}
		c := causes[i]
		fmt.Fprintf(&b, "%d > %s asked:%v answered:%d verdicts:%d", i, typ, c.Asked, c.Answered, c.Verdicts)
		if c.After != None {
			fmt.Fprintf(&b, " after:%d", c.After)
		}
		if len(c.Added)+len(c.Removed) > 0 {
			fmt.Fprintf(&b, " +%v -%v", c.Added, c.Removed)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"each answer before what follows it", `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1{eds}]
C> type=EDS V= N= R=[c1]
C> type=CDS V=1 N=a R=[]
S< type=EDS V=1 N=b res=[c1]
C> type=EDS V=1 N=b R=[c1]
S< type=CDS V=2 N=c res=[c1#bad]
C> type=CDS V=1 N=c R=[] err="no" code=13
S< type=CDS V=3 N=d res=[c1]
`, `
0 < CDS +[*] -[]
1 > CDS asked:true answered:0 verdicts:0 +[*] -[]
2 < EDS +[c1] -[]
3 < CDS ACK of 1
4 > EDS asked:true answered:0 verdicts:1 +[c1] -[]
5 < EDS ACK of 4
6 > CDS asked:true answered:1 verdicts:2
7 < CDS NACK of 6
8 > CDS asked:true answered:2 verdicts:3
`},
		{"a request that says nothing new", `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1{eds}]
C> type=EDS V= N= R=[c1]
S< type=EDS V=1 N=b res=[c1]
C> type=EDS V=1 N=b R=[c1]
S< type=CDS V=2 N=c res=[c1#h2{eds}]
C> type=EDS V=1 N=b R=[c1]
S< type=EDS V=1 N=d res=[c1]
`, `
0 < CDS +[*] -[]
1 > CDS asked:true answered:0 verdicts:0 +[*] -[]
2 < EDS +[c1] -[]
3 > EDS asked:true answered:0 verdicts:0 +[c1] -[]
4 < EDS ACK of 3
5 > CDS asked:true answered:0 verdicts:1
6 < EDS
7 > EDS asked:true answered:1 verdicts:1 after:5
`},
		{"two responses before an answer, which is to the second", `
C> type=EDS V= N= R=[a] node=n1
S< type=EDS V=1 N=a res=[a]
S< type=EDS V=2 N=b res=[a#h2]
C> type=EDS V=2 N=b R=[a,b]
S< type=EDS V=3 N=c res=[a#h3,b]
`, `
0 < EDS +[a] -[]
1 > EDS asked:true answered:0 verdicts:0 +[a] -[]
2 > EDS asked:true answered:0 verdicts:0
3 < EDS ACK of 2 +[b] -[]
4 > EDS asked:true answered:2 verdicts:1 +[b] -[]
`},
		{"delta", `
D> type=EDS N= sub=[a] node=n1
d< type=EDS N=1 res=[a@1]
D> type=EDS N=1 sub=[b] unsub=[a]
d< type=EDS N=2 res=[b@1]
D> type=EDS N=2 err="no" code=3
`, `
0 < EDS +[a] -[]
1 > EDS asked:true answered:0 verdicts:0 +[a] -[]
2 < EDS ACK of 1 +[b] -[a]
3 > EDS asked:true answered:1 verdicts:1 +[b] -[a]
4 < EDS NACK of 3
`},
		{"a response that nobody asked for", `
C> type=CDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[l1]
S< type=CDS V=1 N=b res=[c1]
C> type=CDS V=0 N=b R=[]
`, `
0 < CDS +[*] -[]
1 > LDS asked:false answered:0 verdicts:0
2 > CDS asked:true answered:0 verdicts:0 +[*] -[]
3 < CDS neither ACK nor NACK of 2
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := planOfScript(t, test.script)
			if len(p.Streams) != 1 || len(p.Notes) != 0 {
				t.Fatalf("%d streams, notes %q", len(p.Streams), p.Notes)
			}
			if d := cmp.Diff(strings.TrimPrefix(test.want, "\n"), tell(p.Streams[0])); d != "" {
				t.Error(d)
			}
		})
	}
}

// What cannot be played is said; the rest is in the plan.
func TestPlanNotes(t *testing.T) {
	p := planOfScript(t, `
-- stream 1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
P> path=/v3/discovery:clusters type=CDS V= node=n2
p< 200 type=CDS V=1 res=[c1]
-- stream 7
L> node=n1
l< clusters=[c1] interval=10s
-- stream 8
C> type=CDS V=9 N= R=[] node=n3
S< type=CDS V=9 N=a res=[c1]
`)
	if len(p.Streams) != 2 || len(p.Pollings) != 1 {
		t.Errorf("%d streams, %d pollings; want 2 and 1", len(p.Streams), len(p.Pollings))
	}
	said := strings.Join(p.Notes, "\n")
	for _, want := range []string{"1 stream of load reports", `stream 4 of "n3" (sotw-ads) begins with versions`} {
		if !strings.Contains(said, want) {
			t.Errorf("no note says %q:\n%s", want, said)
		}
	}
}

// Polls that are alike and bring nothing new are one turn, each subscription has its
// own, and what a poll says is held against what was sent last.
func TestPlanPolls(t *testing.T) {
	p := planOfScript(t, `
P> path=/v3/discovery:clusters type=CDS V= node=n1
p< 200 type=CDS V=1 res=[c1]
P> path=/v3/discovery:endpoints type=EDS V= R=[c1] node=n1
p< 200 type=EDS V=1 res=[c1]
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 304
P> path=/v3/discovery:endpoints type=EDS V= R=[c2] node=n1
p< 503
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 304
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 200 type=CDS V=1 res=[c1]
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 200 type=CDS V=2 res=[c1,c2]
P> path=/v3/discovery:clusters type=CDS V=1 node=n1
p< 200 type=CDS V=2 res=[c1,c2]
P> path=/v3/discovery:clusters type=CDS V= node=n1
`)
	var got strings.Builder
	for _, of := range p.Pollings {
		fmt.Fprintf(&got, "%s %v\n", of.Method.Type, of.Names)
		for i, turn := range of.Turns {
			fmt.Fprintf(&got, "  says %d, %d times, is answered by %d, news %v, judges %v\n", turn.Says, turn.Times, turn.Reply.Status, turn.Reply.News, of.Judges(i))
		}
	}
	want := `CDS []
  says 0, 1 times, is answered by 200, news true, judges false
  says 1, 2 times, is answered by 304, news false, judges true
  says 1, 1 times, is answered by 200, news false, judges false
  says 1, 1 times, is answered by 200, news true, judges false
  says 2, 1 times, is answered by 200, news false, judges true
  says 0, 1 times, is answered by 0, news false, judges false
EDS [c1]
  says 0, 1 times, is answered by 200, news true, judges false
EDS [c2]
  says 0, 1 times, is answered by 503, news false, judges false
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
}

// What a gap swallowed is not expected.
func TestPlanGap(t *testing.T) {
	all := entriesOf(t, `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=2 N=b R=[]
`)
	for i, e := range all {
		if e.Kind == session.KindMessage && e.Side == session.Server && bytes.Contains(e.Message.Data.Bytes(), []byte("\x2a\x01b")) {
			all[i] = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{First: e.Seq, Last: e.Seq, Entries: 1, Streams: []session.StreamID{e.Stream}}}
		}
	}
	p := planOf(t, all)
	if len(p.Streams) != 1 || !p.Streams[0].Partial || len(p.Notes) != 2 {
		t.Fatalf("%+v, notes %q", p.Streams, p.Notes)
	}
	n := 0
	for _, st := range p.Streams[0].Steps {
		if st.Expects() {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d answers are expected; want the one that was seen with its response", n)
	}
}

// Whatever the conversation is, the plan of it is sound, and no response waits
// for what comes after it.
func FuzzPlan(f *testing.F) {
	for _, dir := range []string{"../check/testdata/clients/*.xds", "../check/script/testdata/*.xds"} {
		files, err := filepath.Glob(dir)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %d scripts, %v", dir, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, uint64(0))
			f.Add(text, uint64(0x5a5a))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, lose uint64) {
		if len(text) > 8000 || bytes.Contains(text, []byte("size=")) {
			return // slow, and the same again
		}
		s, err := script.Parse("fuzz", text)
		if err != nil {
			return
		}
		var all entries
		for e := range s.Entries() {
			if lose>>(e.Seq%64)&1 == 1 {
				if e.Seq%2 == 0 {
					e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{First: e.Seq, Last: e.Seq, Entries: 1, Streams: []session.StreamID{e.Stream}}}
				} else if e.Message != nil {
					m := *e.Message
					b := m.Data.Bytes()
					m.Data, m.Truncated = session.Chunks{b[:len(b)/2]}, true
					e.Message = &m
				}
			}
			if all = append(all, e); len(all) > 2000 {
				return // slow, and the same again
			}
		}
		p, err := Read(context.Background(), &all, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, st := range p.Streams {
			sound(t, st)
		}
	})
}

func sound(t *testing.T, s *Stream) {
	t.Helper()
	causes := Causes(s)
	if len(s.Steps) == 0 {
		t.Fatalf("%s has no steps", s)
	}
	said := make([]int, len(s.Topics))
	answers := 0
	for i := range s.Steps {
		st := &s.Steps[i]
		if st.Server {
			c := causes[i]
			if c.Answered > said[st.Topic] || c.Verdicts > answers || c.After >= int32(i) {
				t.Fatalf("step %d of %s waits for what is yet to come: %+v\n%s", i, s, c, tell(s))
			}
			if st.Answered != None && (int(st.Answered) <= i || s.Steps[st.Answered].Echo != int32(i)) {
				t.Fatalf("step %d of %s is answered by %d\n%s", i, s, st.Answered, tell(s))
			}
			said[st.Topic]++
			continue
		}
		if st.Answers {
			answers++
		}
		if st.Echo >= int32(i) || st.Echo != None && s.Steps[st.Echo].Topic != st.Topic {
			t.Fatalf("step %d of %s echoes %d\n%s", i, s, st.Echo, tell(s))
		}
	}
	for at := range s.Topics {
		w := s.InterestIn(int32(at))
		for n := range w.Wanted {
			if _, is := w.Asked[n]; !is {
				t.Fatalf("%q is wanted and was never asked for", n)
			}
		}
	}
}
