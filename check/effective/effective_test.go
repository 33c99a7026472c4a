package effective_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/session"
)

func judged(t *testing.T, text string) *check.Checker {
	t.Helper()
	s, err := script.Parse("test", []byte(strings.TrimSpace(text)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	k := check.NewChecker(check.Options{})
	for e := range s.Entries() {
		k.Step(&e)
	}
	return k
}

const accepted = `
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1{eds}]
C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[c1]
`

const replaced = accepted + `
-- held node=n1 CDS/active=[c1#1{eds}]
S< type=CDS V=2 N=b res=[c1#2{eds}]
C> type=CDS V=2 N=b R=[]
`

const takenBack = accepted + `
-- held node=n1 CDS/active=[c1#1{eds}]
S< type=CDS V=2 N=b res=[]
C> type=CDS V=2 N=b R=[]
`

// What became of a resource is what the client says last, and unknown where it does
// not say it.
func TestStates(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		state effect.State
		why   string
		waits string
	}{
		"in effect":         {accepted + "-- held node=n1 CDS/active=[c1#1{eds}]", effect.InEffect, "", ""},
		"by change":         {accepted + "-- held node=n1 changed=true CDS/active=[c1#1{eds}]", effect.InEffect, "", ""},
		"warming":           {accepted + "-- held node=n1 CDS/warming=[c1#1{eds}]", effect.Warming, "", "EDS c1"},
		"another":           {accepted + "-- held node=n1 CDS/active=[c1#9{eds}]", effect.Other, "", ""},
		"not there":         {accepted + "-- held node=n1 changed=true CDS/gone=[c1]", effect.Absent, "", ""},
		"failed later":      {accepted + `-- held node=n1 CDS/error=[c1#"no room"]`, effect.Absent, "no room", ""},
		"static":            {accepted + "-- held node=n1 CDS/static=[c1#9]", effect.Absent, "there is a static one of this name", ""},
		"awaited":           {accepted + "-- held node=n1 CDS/awaited=[c1]", effect.Absent, "the client says that it still waits for it", ""},
		"draining":          {accepted + "-- held node=n1 CDS/draining=[c1#1{eds}]", effect.Draining, "", ""},
		"not asked since":   {accepted, effect.Unknown, "the client was not asked since it accepted it", ""},
		"cannot be asked":   {accepted + "-- held node=n1 CDS/active=[c1#1{eds}]\n" + `-- held node=n1 failed="gone"`, effect.Unknown, "it cannot be asked what it holds: gone", ""},
		"after a failure":   {accepted + `-- held node=n1 failed="gone"` + "\n-- held node=n1 changed=true CDS/gone=[c1]", effect.Unknown, "not all that the client holds is known", ""},
		"another place":     {accepted + "-- held node=n1 at=10.0.0.1:1 CDS/active=[c1#1{eds}]", effect.Unknown, "several processes say what this node holds", ""},
		"the older one":     {replaced + "-- held node=n1 CDS/active=[c1#1{eds}]", effect.Other, "it still uses what entry 6 has", ""},
		"the newer one":     {replaced + "-- held node=n1 CDS/active=[c1#2{eds}]", effect.InEffect, "", ""},
		"the newer warms":   {replaced + "-- held node=n1 CDS/active=[c1#1{eds}] CDS/warming=[c1#2{eds}]", effect.Warming, "", "EDS c1"},
		"taken back":        {takenBack + "-- held node=n1", effect.InEffect, "", ""},
		"taken back, there": {takenBack + "-- held node=n1 CDS/active=[c1#1{eds}]", effect.Other, "it was taken back, and the client uses it still", ""},
		"taken back, ends":  {takenBack + "-- held node=n1 CDS/draining=[c1#1{eds}]", effect.Draining, "", ""},
		"rejected": {`
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1{eds}]
C> type=CDS V= N=a R=[] err="bad"
-- held node=n1 CDS/error=[c1#bad]`, effect.Failed, "bad", ""},
		"rejected, and used": {`
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1{eds}]
C> type=CDS V= N=a R=[] err="bad"
-- held node=n1 CDS/active=[c1#1{eds}]`, effect.InEffect, "though the response was rejected", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, is := judged(t, test.text).Effects().Of("n1", "CDS", "c1")
			if !is || e.State != test.state || e.Why != test.why || strings.Join(e.Waits, ",") != test.waits {
				t.Errorf("%+v", e)
			}
			if e.Effective.Known() != (test.state == effect.InEffect) {
				t.Errorf("effective at %+v", e.Effective)
			}
		})
	}
}

// A client that was started again has nothing, and as much time as before to have in use
// what it is sent then; one that merely connects again has what it says that it has.
func TestStartedAgain(t *testing.T) {
	const before = `
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1{eds}]
C> type=CDS V=1 N=a R=[]
-- held node=n1 CDS/active=[c1#1{eds}]
t=+100s -- client-end code=CANCELLED
t=+1s -- stream 2 method=StreamAggregatedResources
`
	const fresh = before + `
C> type=CDS V= N= R=[] node=n1
t=+1s -- held node=n1
`
	const resent = fresh + `
S< type=CDS V=1 N=b res=[c1#1{eds}]
C> type=CDS V=1 N=b R=[]
t=+1s -- held node=n1 CDS/warming=[c1#1{eds}]
`
	for name, test := range map[string]struct {
		text     string
		state    effect.State
		why      string
		findings int
	}{
		"not sent yet":     {fresh, effect.Unknown, "the client was not sent it since it connected again", 0},
		"warming again":    {resent, effect.Warming, "", 0},
		"for long":         {resent + "t=+40s -- held node=n1 CDS/warming=[c1#1{eds}]", effect.Warming, "", 1},
		"in effect again":  {resent + "t=+1s -- held node=n1 CDS/active=[c1#1{eds}]", effect.InEffect, "", 0},
		"merely connected": {before + "C> type=CDS V=1 N= R=[] node=n1\nt=+1s -- held node=n1", effect.Absent, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := judged(t, test.text)
			if e, is := k.Effects().Of("n1", "CDS", "c1"); !is || e.State != test.state || e.Why != test.why {
				t.Errorf("%+v", e)
			}
			n := 0
			for _, f := range k.Findings() {
				if f.Rule.ID == "accepted-not-effective" {
					n++
				}
			}
			if n != test.findings {
				t.Errorf("%d findings", n)
			}
		})
	}
}

// Nothing is kept where nobody says what is held, and what is said of nobody that is
// known counts for nobody.
func TestNothingExpected(t *testing.T) {
	const rest = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n"
	a := judged(t, rest).Effects()
	if _, is := a.Of("n1", "CDS", "c1"); a.Expected() || is || len(a.Client("n1")) > 0 || len(a.Counts("n1")) > 0 {
		t.Error("something is known")
	}
	a = judged(t, "-- held node=other CDS/active=[c1]\n"+rest).Effects()
	if e, _ := a.Of("n1", "CDS", "c1"); !a.Expected() || e.State != effect.Unknown || e.State.Answer() != "unknown" {
		t.Errorf("%+v", e)
	}
	// What was accepted before is known as soon as the client says what it holds.
	a = judged(t, rest+"-- held node=n1 CDS/active=[c1]").Effects()
	if e, is := a.Of("n1", "CDS", "c1"); !is || e.State != effect.InEffect {
		t.Errorf("%+v", e)
	}
	if n := a.Counts("n1")["CDS"]; n != (effect.Count{InEffect: 1, Known: 1, All: 1}) {
		t.Errorf("%+v", n)
	}
}

// Whatever a client says, nothing breaks, and what is in effect is what was sent.
func FuzzHeld(f *testing.F) {
	for e := range parsed(f, accepted+"-- held node=n1 CDS/warming=[c1#1{eds}] EDS/active=[c1] SDS/awaited=[s1]").Entries() {
		if e.Kind == session.KindHeld {
			f.Add(e.Message.Data.Bytes(), true)
		}
	}
	f.Add([]byte("\n\x10\x1a\x0e\n\x00\"\x02\x12\x00"), false)
	s := parsed(f, replaced)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		k := check.NewChecker(check.Options{})
		var last session.Entry
		for e := range s.Entries() {
			k.Step(&e)
			last = e
		}
		for range 2 {
			last = session.Entry{
				Seq: last.Seq + 1, Time: last.Time.Add(60e9), Kind: session.KindHeld, Side: session.Client, Held: &session.Held{Node: "n1", Whole: whole},
				Message: &session.Message{Size: int64(len(data)), Data: session.Chunks{data}},
			}
			k.Step(&last)
		}
		all := k.Effects().Client("n1")
		if !slices.ContainsFunc(all, func(e effect.Effect) bool { return e.Type == "CDS" && e.Name == "c1" }) {
			t.Errorf("%+v", all)
		}
	})
}

func parsed(f *testing.F, text string) *script.Script {
	s, err := script.Parse("test", []byte(strings.TrimSpace(text)+"\n"))
	if err != nil {
		f.Fatal(err)
	}
	return s
}
