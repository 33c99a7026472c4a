package index

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// inMemory reads entries that are in memory.
type inMemory struct {
	entries []session.Entry
	at      int
}

func (s *inMemory) Next(context.Context) (session.Entry, error) {
	if s.at == len(s.entries) {
		return session.Entry{}, io.EOF
	}
	s.at++
	return s.entries[s.at-1], nil
}

func (s *inMemory) Seek(seq session.Seq) error {
	if s.at = slices.IndexFunc(s.entries, func(e session.Entry) bool { return e.Seq >= seq }); s.at < 0 {
		s.at = len(s.entries)
	}
	return nil
}
func (*inMemory) Follow(bool)           {}
func (*inMemory) Pieces()               {}
func (*inMemory) Facts() recorder.Facts { return recorder.Facts{} }
func (*inMemory) Close() error          { return nil }

// play indexes a script.
func play(tb testing.TB, text string) (*Index, *Fetcher) { return playInto(tb, New(), text) }

func playInto(tb testing.TB, x *Index, text string) (*Index, *Fetcher) {
	tb.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	entries := slices.Collect(s.Entries())
	for i := range entries {
		if e := &entries[i]; e.Kind == session.KindHalfClose { // stands for a gap
			e.Kind, e.Gap = session.KindGap, &session.Gap{Streams: []session.StreamID{e.Stream}}
		}
	}
	NewFeed(x, check.Options{}).Run(tb.Context(), &inMemory{entries: entries}, false, nil)
	return x, NewFetcher(x, func() (Reader, error) { return &inMemory{entries: entries}, nil })
}

// lastResponse is the row of the last response.
func lastResponse(x *Index) Row {
	for i := x.Len() - 1; ; i-- {
		if r, ok := x.Row(i); !ok || r.What.Response() {
			return r
		}
	}
}

// A response is compared with what the client had accepted when it answered,
// however long ago that was. What is not known is not said to be nothing.
func TestAgainst(t *testing.T) {
	loop := func(rounds int, response, request string) string {
		var b strings.Builder
		for i := range rounds {
			fmt.Fprintf(&b, response+"\n"+request+"\n", i, i)
		}
		return b.String()
	}
	const (
		begin   = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1,c2]\nC> type=CDS V=1 N=a R=[]\n"
		badCDS  = "S< type=CDS V=2 N=n%d res=[c1{eds}]"
		noCDS   = `C> type=CDS V=1 N=n%d R=[] err="bad"`
		endsCDS = "-- server-end code=14\n-- stream 2\n"
	)
	for name, tc := range map[string]struct {
		script string
		held   string // the version that was accepted before; "none"
		want   string // what became of each resource, and the version before
	}{
		"a loop of rejections":             {begin + loop(200, badCDS, noCDS), "1", "c1 changed 1, c2 removed 1"},
		"nothing was ever accepted":        {"C> type=CDS V= N= R=[] node=n1\n" + loop(200, badCDS, `C> type=CDS V= N=n%d R=[] err="bad"`), "none", "c1 same 2"},
		"the first":                        {"C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n", "none", "c1 added"},
		"it says that it has it still":     {begin + endsCDS + "C> type=CDS V=1 N= R=[] node=n1\n" + loop(100, badCDS, noCDS), "1", "c1 changed 1, c2 removed 1"},
		"it begins with nothing":           {begin + endsCDS + "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=2 N=b res=[c1]\n", "none", "c1 added"},
		"it has what was not seen":         {begin + endsCDS + "C> type=CDS V=7 N= R=[] node=n1\nS< type=CDS V=8 N=b res=[c1]\n", "", "c1 not known"},
		"it was accepted after this came":  {"C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nS< type=CDS V=2 N=b res=[c1{eds}]\nC> type=CDS V=1 N=a R=[]\nC> type=CDS V=1 N=b R=[] err=\"bad\"\n", "1", "c1 changed 1"},
		"a named type, long ago":           {"C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a]\nC> type=EDS V=1 N=a R=[a,b]\nS< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[a,b]\n" + loop(100, "S< type=EDS V=3 N=n%d res=[a]", `C> type=EDS V=2 N=n%d R=[a,b] err="bad"`), "2", "a same 1"},
		"a named type, passed over":        {"C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a]\nS< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[a,b]\nS< type=EDS V=3 N=c res=[a]\n", "2", "a same 1"},
		"a name that never came":           {"C> type=EDS V= N= R=[a] node=n1\nS< type=EDS V=1 N=a res=[a]\nC> type=EDS V=1 N=a R=[a,b]\nS< type=EDS V=2 N=b res=[b]\n", "1", "b added"},
		"delta":                            {"D> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=[c1@1]\nD> type=CDS N=a\nd< type=CDS N=b res=[c2@1]\nD> type=CDS N=b\n" + loop(100, "d< type=CDS N=n%d res=[c1@2]", `D> type=CDS N=n%d err="bad"`), "", "c1 changed 1"},
		"delta: it says what it has still": {"D> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=[c1@1]\nD> type=CDS N=a\n" + endsCDS + "D> type=CDS N= sub=[*] init={c1:1} node=n1\nd< type=CDS N=b res=[c1@2]\n", "", "c1 changed 1"},
		"delta: it never came":             {"D> type=CDS N= sub=[*] node=n1\n" + loop(100, "d< type=CDS N=n%d res=[c1@1]", "D> type=CDS N=n%d") + "d< type=CDS N=z res=[c9@1]\n", "", "c9 added"},
		"delta: there is a gap":            {"D> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=[c1@1]\nD> type=CDS N=a\n-- client-half-close\nd< type=CDS N=z res=[c1@3,c2@1]\n", "", "c1 changed 1, c2 not known"},
		"its beginning was not seen":       {"C> type=CDS V=4 N=y R=[]\nS< type=CDS V=5 N=z res=[c1]\nC> type=CDS V=4 N=z R=[] err=\"bad\"\n", "", "c1 not known"},
	} {
		t.Run(name, func(t *testing.T) {
			x, f := play(t, tc.script)
			r := lastResponse(x)
			around := f.Around(t.Context(), r.Seq)
			held := ""
			if around.None {
				held = "none"
			} else if around.Held != nil {
				held = x.Words(around.Held).Version
			}
			if held != tc.held {
				t.Errorf("accepted before: %q, want %q", held, tc.held)
			}
			a, err := f.Against(t.Context(), r.Seq, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(a); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
