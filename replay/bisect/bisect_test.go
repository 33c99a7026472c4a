package bisect

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/session"
)

// scripted opens a conversation script as often as it is asked to.
func scripted(t testing.TB, text string) func() (replay.Source, func() error, error) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(s.Entries())
	return func() (replay.Source, func() error, error) {
		again := replaytest.Entries(slices.Clone(all))
		return &again, func() error { return nil }, nil
	}
}

// namesSeen are the names of the resources in an element of picky.seen.
func namesSeen(seen string) (out []string) {
	_, list, _ := strings.Cut(seen, " ")
	for r := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(r, "#")
		out = append(out, name)
	}
	return out
}

// bad refuses a response of a type in which all names of a set come with another
// content than a client is given first.
func bad(typ string, sets ...string) func(m *decode.Message, _ int) string {
	first := map[string]string{}
	return func(m *decode.Message, n int) string {
		if xds.ShortType(m.TypeURL) != typ {
			return ""
		}
		changed := map[string]bool{}
		for i := range m.Resources {
			r := &m.Resources[i]
			if n == 1 {
				first[r.Name] = contentOf(r)
			}
			changed[r.Name] = first[r.Name] != contentOf(r)
		}
		for _, s := range sets {
			all := true
			for name := range strings.SplitSeq(s, "+") {
				all = all && changed[name]
			}
			if all {
				return "I do not like something"
			}
		}
		return ""
	}
}

// bisected bisects a script with a client, in a time of its own.
func bisected(t *testing.T, text string, seq session.Seq, c *picky, o Options) (found *Result, err error) {
	t.Helper()
	o.Say = func(s string) { t.Log(s) }
	r, err := ReadRejection(t.Context(), seq, scripted(t, text))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if c == nil {
			found, err = tried(t, r, o)
		} else {
			found, err = tried(t, r, o, c)
		}
	})
	return found, err
}

func culpritsOf(f *Result) string {
	var out []string
	for i := range f.Culprits {
		out = append(out, strings.Join(f.Culprits[i].Names(), "+"))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

const (
	sotwClusters = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[old#1,a#1,b#1,c#1,d#1]
C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[a]
S< type=EDS V=1 N=e res=[a#1]
C> type=EDS V=1 N=e R=[a]
S< type=CDS V=2 N=b res=[old#1,a#2,b#2,c#2,d#2,e#2,f#2,g#2]
C> type=CDS V=1 N=b R=[] err="no"
`
	deltaClusters = `
D> type=CDS N= sub=[] node=n1
d< type=CDS N=a res=[old@1,a@1,b@1,c@1,d@1]
D> type=CDS N=a sub=[]
d< type=CDS N=b res=[a@2,b@2,c@2,d@2,e@2,f@2,g@2] rm=[old]
D> type=CDS N=b sub=[] err="no"
`
	sotwEndpoints = `
C> type=EDS V= N= R=[a,b,c,d] node=n1
S< type=EDS V=1 N=a res=[a#1,b#1,c#1,d#1]
C> type=EDS V=1 N=a R=[a,b,c,d]
S< type=EDS V=2 N=b res=[b#2,c#2,d#2]
C> type=EDS V=1 N=b R=[a,b,c,d] err="no"
`
	neverAccepted = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[a,b,c,d,e,f]
C> type=CDS V= N=a R=[] err="no"
`
)

func TestBisect(t *testing.T) {
	for _, c := range []struct {
		name, script string
		client       picky
		want         string
		bare         bool
	}{
		{"one", sotwClusters, picky{asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS", "c")}, "c", true},
		{"two", sotwClusters, picky{asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS", "a", "g")}, "a g", true},
		{"a pair and one", sotwClusters, picky{asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS", "b+f", "e")}, "b+f e", true},
		{"beside what was there", sotwClusters, picky{asks: []string{"CDS", "EDS:a"}, refuse: func(m *decode.Message, _ int) string {
			if names := m.ResourceNames(); slices.Contains(names, "old") && slices.Contains(names, "e") {
				return "old and e"
			}
			return ""
		}}, "e", false},
		{"delta", deltaClusters, picky{asks: []string{"CDS"}, delta: true, refuse: bad("CDS", "a", "g", "b+d")}, "a b+d g", true},
		{"by name", sotwEndpoints, picky{asks: []string{"EDS:a,b,c,d"}, refuse: bad("EDS", "c", "d")}, "c d", true},
		{"the other variant", sotwClusters, picky{asks: []string{"CDS"}, delta: true, refuse: bad("CDS", "b")}, "b", true},
		{"and the other way round", deltaClusters, picky{asks: []string{"CDS"}, refuse: bad("CDS", "b")}, "b", true},
		{"nothing was accepted before", neverAccepted, picky{asks: []string{"CDS"}, refuse: func(m *decode.Message, _ int) string {
			if slices.Contains(m.ResourceNames(), "d") {
				return "d"
			}
			return ""
		}}, "d", true},
		{"another client", sotwClusters, picky{node: "other", asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS", "c")}, "c", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.client.node == "" {
				c.client.node = "n1"
			}
			f, err := bisected(t, c.script, 0, &c.client, Options{})
			if err != nil || culpritsOf(f) != c.want || !f.Rest || (f.By != "") != (c.client.node != "n1") {
				t.Fatalf("%+v, %v; want %s", f, err, c.want)
			}
			for _, got := range f.Culprits {
				if got.Bare != c.bare || got.Words == "" || got.Code != 13 {
					t.Errorf("%+v", got)
				}
			}
			var b bytes.Buffer
			if lost, err := script.Write(&b, f.Entries()); err != nil || len(lost) > 0 {
				t.Fatalf("%v, %v", lost, err)
			}
			again, err := script.Parse("again", b.Bytes())
			if err != nil {
				t.Fatalf("%v in\n%s", err, &b)
			}
			r, err := ReadRejection(t.Context(), 0, func() (replay.Source, func() error, error) {
				all := replaytest.Entries(slices.Collect(again.Entries()))
				return &all, func() error { return nil }, nil
			})
			if err != nil || r.Type != f.Type {
				t.Errorf("%v; of the script the rejection is %+v:\n%s", err, r, &b)
			}
		})
	}
}

// Before each trial the client has what the recorded one had.
func TestBisectBase(t *testing.T) {
	for _, text := range []string{sotwClusters, deltaClusters} {
		c := &picky{node: "n1", asks: []string{"CDS", "EDS:a"}, delta: text == deltaClusters, refuse: bad("CDS", "c")}
		if _, err := bisected(t, text, 0, c, Options{}); err != nil {
			t.Fatal(err)
		}
		at, base := map[string]string{}, map[string]string(nil)
		n := 0
		for _, s := range c.seen {
			typ, list, _ := strings.Cut(s, " ")
			if typ != "CDS" {
				continue
			}
			if !c.delta {
				clear(at)
			}
			for r := range strings.SplitSeq(list, ",") {
				if gone, is := strings.CutPrefix(r, "-"); is {
					delete(at, gone)
				} else {
					name, content, _ := strings.Cut(r, "#")
					at[name] = content
				}
			}
			if n++; n%2 == 0 {
				continue // a trial
			}
			if base == nil {
				base = maps.Clone(at)
			}
			if !maps.Equal(at, base) || len(base) != 5 {
				t.Errorf("before trial %d the client has %v, not %v", n/2+1, at, base)
			}
		}
		if n < 6 {
			t.Errorf("only %d responses: %q", n, c.seen)
		}
	}
}

func TestBisectRemovals(t *testing.T) {
	const text = `
C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[a,b,keep]
C> type=LDS V=1 N=a R=[]
S< type=LDS V=2 N=b res=[a#2,b#2,c]
C> type=LDS V=1 N=b R=[] err="no"
`
	f, err := bisected(t, text, 7, &picky{node: "n1", asks: []string{"LDS"}, refuse: func(m *decode.Message, _ int) string {
		if !slices.Contains(m.ResourceNames(), "keep") {
			return "where is keep?"
		}
		return ""
	}}, Options{})
	if err != nil || !f.Removals || f.RemovalWords() != "where is keep?" || !slices.Equal(f.Removed, []string{"keep"}) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBisectAccepted(t *testing.T) {
	f, err := bisected(t, sotwClusters, 10, &picky{node: "n1", asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS")}, Options{})
	if err != nil || !f.Accepted || f.Found() || f.Trials != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A client that rejects what the recorded one had accepted is given the response
// without that.
func TestBisectBaseRejected(t *testing.T) {
	f, err := bisected(t, sotwClusters, 0, &picky{node: "n1", asks: []string{"CDS", "EDS:a"}, refuse: func(m *decode.Message, _ int) string {
		if slices.Contains(m.ResourceNames(), "old") {
			return "old is too old"
		}
		return ""
	}}, Options{})
	if err != nil || culpritsOf(f) != "old" || !strings.Contains(strings.Join(f.Notes, "\n"), "had accepted of CDS before: old is too old") {
		t.Errorf("%+v, %v", f, err)
	}
}

// A client that does not know what it wants.
func TestBisectFickle(t *testing.T) {
	n := 0
	f, err := bisected(t, sotwClusters, 0, &picky{node: "n1", asks: []string{"CDS", "EDS:a"}, refuse: func(m *decode.Message, _ int) string {
		if xds.ShortType(m.TypeURL) != "CDS" || !slices.Contains(m.ResourceNames(), "g") {
			return ""
		}
		if n++; n <= 2 {
			return "not today"
		}
		return ""
	}}, Options{})
	if err != nil || f.Fickle == nil || f.Rest {
		t.Errorf("%+v, %v", f, err)
	}
}

// A client that goes away without a word each time that it gets one resource.
func TestBisectLeaves(t *testing.T) {
	c := &picky{node: "n1", asks: []string{"CDS", "EDS:a"}, refuse: bad("CDS")}
	c.leave = func(m *decode.Message, _ int) bool { return slices.Contains(m.ResourceNames(), "f") }
	f, err := bisected(t, sotwClusters, 0, c, Options{})
	if err != nil || culpritsOf(f) != "f" || !strings.Contains(f.Culprits[0].Words, "went away") {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBisectSilence(t *testing.T) {
	quick := Options{Timeout: 200 * time.Millisecond, Wait: 300 * time.Millisecond}
	_, err := bisected(t, sotwClusters, 0, nil, quick)
	if absent, is := errors.AsType[*AbsentError](err); !is || absent.Came {
		t.Errorf("without a client: %v", err)
	}
	_, err = bisected(t, sotwClusters, 0, &picky{node: "n1", asks: []string{"LDS"}, refuse: bad("LDS")}, quick)
	if absent, is := errors.AsType[*AbsentError](err); !is || !absent.Came {
		t.Errorf("with a client that asks for something else: %v", err)
	}
	_, err = bisected(t, sotwClusters, 0, &picky{node: "n1", asks: []string{"CDS"}, refuse: func(_ *decode.Message, n int) string {
		if n > 1 {
			return "(silence)"
		}
		return ""
	}}, quick)
	if err == nil || !strings.Contains(err.Error(), "gives no answer") {
		t.Errorf("with a silent client: %v", err)
	}
}

func TestNotRejected(t *testing.T) {
	for seq, want := range map[session.Seq]string{
		1: "entry 1 is no message", 5: "entry 5 is a response of CDS that nobody rejects", 6: "entry 6 accepts entry 5",
		3: "entry 3 is neither a NACK nor a response", 99: "there is no entry 99",
	} {
		_, err := ReadRejection(t.Context(), seq, scripted(t, sotwClusters))
		not, is := errors.AsType[*NotRejectedError](err)
		if !is || !strings.Contains(err.Error(), want) || len(not.There) != 1 {
			t.Errorf("entry %d: %v; want %s", seq, err, want)
		}
	}
}

// Recordings of real clients that reject something can be read.
func TestReadRejections(t *testing.T) {
	files, err := os.ReadDir(replaytest.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".xdsp") {
			continue
		}
		all := recordertest.Entries(t, replaytest.Sessions+"/"+f.Name())
		r, err := ReadRejection(t.Context(), 0, func() (replay.Source, func() error, error) {
			again := replaytest.Entries(slices.Clone(all))
			return &again, func() error { return nil }, nil
		})
		if _, none := errors.AsType[*NotRejectedError](err); none {
			continue
		}
		if err != nil || len(r.Suspects) == 0 || r.Resources == 0 || r.Words == "" {
			t.Errorf("%s: %v, %+v", f.Name(), err, r)
		}
		read++
	}
	if read < 5 {
		t.Errorf("only %d recordings have rejections", read)
	}
}

func TestSpeaksOf(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"Error adding cluster(s) c1: bad", "c1", true},
		{"Error adding cluster(s) c12: bad", "c1", false},
		{"no my-c1 here", "c1", false},
		{"'c1' is bad", "c1", true},
		{"c12 and c1", "c1", true},
		{"it is c1.", "c1", true},
		{"", "c1", false},
		{"c1", "c1", true},
		{"c1.example", "c1", true},
		{"c1:80", "c1", true},
		{"`c1{ and [c1] @c1", "c1", true},
		{"ac1 zc1 Ac1 Zc1 0c1 9c1 -c1 _c1 .c1 :c1 /c1 |c1", "c1", false},
		{"c1a c1z c1A c1Z c10 c19 c1- c1_ c1/ c1|", "c1", false},
		{"`c1", "c1", true},
		{"{c1", "c1", true},
		{"@c1", "c1", true},
		{"[c1", "c1", true},
		{";c1", "c1", true},
		{"zc1", "c1", false},
		{"Zc1", "c1", false},
		{"ac1", "c1", false},
		{"Ac1", "c1", false},
		{"0c1", "c1", false},
		{"9c1", "c1", false},
	} {
		if got := speaksOf(c.text, c.name); got != c.want {
			t.Errorf("%q speaks of %q: %v", c.text, c.name, got)
		}
	}
}
