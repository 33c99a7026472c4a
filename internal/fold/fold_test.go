package fold

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// seen is what came of an entry.
type seen struct {
	session.Seq
	what  string
	place Place
}

func play(t *testing.T, text string) []seen {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, account := New(), check.NewTracker(nil)
	var out []seen
	for e := range s.Entries() {
		c := account.Step(&e)
		out = append(out, seen{e.Seq, c.What, f.Step(&e, &c.Change, false)})
	}
	return out
}

// lines are the messages that stand for themselves.
func lines(all []seen) string {
	var out []string
	for _, s := range all {
		if s.what != "" && s.place.Under == nil {
			out = append(out, s.what)
		}
	}
	return strings.Join(out, " ")
}

func TestWhatARepeatIs(t *testing.T) {
	const begin = "C> type=CDS V= N= R=[] node=n1\n"
	round := func(version, content, nonce, why string) string {
		return fmt.Sprintf("S< type=CDS V=%s N=%s res=[%s]\nC> type=CDS V= N=%s R=[] err=%q code=13\n", version, nonce, content, nonce, why)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a loop":             {round("1", "a", "1", "no") + round("1", "a", "2", "no") + round("1", "a", "3", "no"), "SUB RESP NACK"},
		"another version":    {round("1", "a", "1", "no") + round("2", "a", "2", "no") + round("2", "a", "3", "no"), "SUB RESP NACK RESP NACK"},
		"another content":    {round("1", "a", "1", "no") + round("1", "a#2", "2", "no"), "SUB RESP NACK RESP NACK"},
		"another name":       {round("1", "a", "1", "no") + round("1", "a,b", "2", "no"), "SUB RESP NACK RESP NACK"},
		"another reason":     {round("1", "a", "1", "no") + round("1", "a", "2", "never") + round("1", "a", "3", "never"), "SUB RESP NACK NACK"},
		"a word of protobuf": {round("1", "a", "1", "goo.gle/debugstr x no") + round("1", "a", "2", "goo.gle/debugonly x no"), "SUB RESP NACK"},
		"and then accepted":  {round("1", "a", "1", "no") + round("1", "a", "2", "no") + "S< type=CDS V=1 N=3 res=[a]\nC> type=CDS V=1 N=3 R=[]\n", "SUB RESP NACK ACK"},
		"back again":         {round("1", "a", "1", "no") + round("2", "b", "2", "no") + round("1", "a", "3", "no"), "SUB RESP NACK RESP NACK RESP NACK"},
		"of another type": {
			round("1", "a", "1", "no") + "C> type=LDS V= N= R=[]\nS< type=LDS V=1 N=x res=[l]\nC> type=LDS V=1 N=x R=[]\n" + round("1", "a", "2", "no"),
			"SUB RESP NACK SUB RESP ACK",
		},
		"asked for again": {
			"C> type=EDS V= N= R=[a]\nS< type=EDS V=1 N=1 res=[a]\nC> type=EDS V=1 N=1 R=[a]\nC> type=EDS V=1 N=1 R=[a,b]\nS< type=EDS V=1 N=2 res=[a]\nC> type=EDS V=1 N=2 R=[a,b]\n",
			"SUB SUB RESP ACK SUB RESP ACK",
		},
	} {
		if got := lines(play(t, begin+c.text)); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// An answer is a repeat where its response came again since, or where no response came ever.
func TestAnswersThatComeAgain(t *testing.T) {
	var l line
	step := func(what string, p Place, head session.Seq, round bool) {
		t.Helper()
		got := session.Seq(0)
		if p.Under != nil {
			got = p.Under.Head()
		}
		if got != head || p.Round != round {
			t.Errorf("%s is folded under %d, a round: %v", what, got, p.Round)
		}
	}
	step("the first answer", l.answered(1, 9), 0, false)
	step("its repeat", l.answered(2, 9), 1, true)
	step("a response", l.said(3, 5), 0, false)
	step("the answer to it", l.answered(4, 9), 0, false)
	step("one that nothing came before", l.answered(5, 9), 0, false)
	step("the response again", l.said(6, 5), 5, false)
	step("and its answer", l.answered(7, 9), 5, true)
	step("another answer", l.answered(8, 7), 0, false)
}

// A loop of 10,000 rounds is one line that counts, however its nonces look.
func TestLoop(t *testing.T) {
	var b strings.Builder
	b.WriteString("C> type=LDS V= N= R=[] node=gw-0\n")
	const rounds = 10_000
	for i := range rounds {
		fmt.Fprintf(&b, "S< type=LDS V=88 N=%d res=[bad]\nC> type=LDS V=87 N=%d R=[] err=\"duplicate address\" code=13\n", i, i)
	}
	all := play(t, b.String())
	if got := lines(all); got != "SUB RESP NACK" {
		t.Errorf("%s stand for themselves", got)
	}
	last := all[len(all)-1].place.Under
	for _, s := range all {
		if s.place.Under != nil {
			last = s.place.Under
		}
	}
	var first session.Seq
	for _, s := range all {
		if s.what == engine.NACK {
			first = s.Seq
			break
		}
	}
	if last == nil || last.Rounds() != rounds-1 || last.Head() != first || last.Poll() {
		t.Errorf("%+v, and the first NACK is %d", last, first)
	}
}

// What a rule proves something with stands for itself, and counts.
func TestFindingsAreNotFolded(t *testing.T) {
	s, err := script.Parse("test.xds", []byte("C> type=CDS V= N= R=[] node=n1\n"+strings.Repeat("S< type=CDS V=1 N=1 res=[a]\nC> type=CDS V= N=1 R=[] err=\"no\" code=13\n", 3)))
	if err != nil {
		t.Fatal(err)
	}
	f, account := New(), check.NewTracker(nil)
	for e := range s.Entries() {
		c := account.Step(&e)
		if p := f.Step(&e, &c.Change, true); p.Under != nil {
			t.Errorf("entry %d is folded", e.Seq)
		}
	}
}

// Real polls: of each but what it asks and brings has a line, and of those that
// bring nothing new none has.
func TestPolls(t *testing.T) {
	for name, want := range map[string]int{"rest-in-full": 12, "rest-envoy": 0, "rest-nack": 0, "rest-two-replicas": 0} {
		r, err := recorder.Open(filepath.Join("..", "..", "check", "testdata", "sessions", name+".xdsp"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		f, account := New(), check.NewTracker(nil)
		polls, asked, frames, rounds, shown := 0, 0, 0, uint64(0), 0
		for e, err := range r.Entries(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			c := account.Step(&e)
			p := f.Step(&e, &c.Change, false)
			if c.Variant != xds.VariantREST {
				continue
			}
			switch {
			case e.Kind == session.KindOpen:
				polls++
			case e.Kind == session.KindMessage:
				asked++
			}
			switch {
			case p.Under == nil && e.Kind == session.KindMessage:
				shown++
			case p.Under == nil && (e.Kind == session.KindOpen || e.Kind == session.KindHalfClose):
				frames++
			}
			if p.Round {
				rounds++
				if p.Under.Head() == 0 || p.Under.Head() >= e.Seq || !p.Under.Poll() {
					t.Errorf("%s: entry %d is folded under %d", name, e.Seq, p.Under.Head())
				}
			}
		}
		if frames > 0 {
			t.Errorf("%s: %d frames of polls have lines", name, frames)
		}
		if rounds == 0 || shown >= asked || int(rounds) >= polls || want > 0 && shown != want {
			t.Errorf("%s: of %d polls with %d messages %d have lines, and %d polls are folded", name, polls, asked, shown, rounds)
		}
	}
}

// Whatever comes, what is remembered is bounded, and nothing is folded under what
// never came.
func FuzzStep(f *testing.F) {
	f.Add("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=1 res=[a]\nC> type=CDS V= N=1 R=[] err=\"no\" code=13\nS< type=CDS V=1 N=1 res=[a]\n")
	f.Add("P> type=CDS V= R=[] node=n1\np< type=CDS V=1 res=[a]\nP> type=CDS V=1 R=[] node=n1\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("fuzz.xds", []byte(text))
		if err != nil {
			return
		}
		folder, account := New(), check.NewTracker(nil)
		for e := range s.Entries() {
			c := account.Step(&e)
			p := folder.Step(&e, &c.Change, false)
			if p.Under != nil && p.Under.Head() > e.Seq {
				t.Errorf("entry %d is folded under %d", e.Seq, p.Under.Head())
			}
			if p.Round && (p.Under == nil || p.Under.Rounds() == 0 || p.Under.Head() == 0) {
				t.Errorf("entry %d completes a round of nothing", e.Seq)
			}
		}
	})
}
