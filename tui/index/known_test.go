package index

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// What an entry that is read again is said to be is what the account said of it.
func TestFetchedIsWhatTheAccountSaid(t *testing.T) {
	for _, name := range []string{"aggregated", "delta", "beside", "effect"} {
		x, _, fetch, entries := toldOf(t, name)
		k := check.NewChecker(check.Options{})
		for i := range entries {
			want := k.Step(&entries[i]).Change
			got, err := fetch.fetchOne(t.Context(), entries[i].Seq)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := x.BySeq(entries[i].Seq); !is || entries[i].Kind != session.KindMessage {
				continue
			}
			of := func(c *engine.Change) string {
				s := fmt.Sprintf("%s %s of %s, uncertain %t, answers %d, accepted %d %t", c.What, c.Type, c.Client, c.Uncertain, c.Answers, c.Accepted, c.None)
				if len(c.Also) > 0 {
					s += ", also " + strings.Join(c.Also, " ")
				}
				n, _ := c.Count()
				return s + fmt.Sprintf(", all %t", n == engine.Everything)
			}
			if g, w := of(&got.Change.Change), of(&want); g != w {
				t.Errorf("%s, %d: %s, not %s", name, entries[i].Seq, g, w)
			}
		}
	}
}

// A response that its client passed over on the way to a newer one counts as accepted
// only where each has the state of the world.
func TestWhatWasPassedOver(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   string // the version, or the nonce, that was accepted before the second one
	}{
		"state of the world": {"C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a]\nS< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[a,b]\n", "a"},
		"delta":              {"D> type=EDS N= sub=[a,b] node=n1\nd< type=EDS N=a res=[a@1]\nd< type=EDS N=b res=[b@1]\nD> type=EDS N=b\n", "none"},
		"it was rejected":    {"C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a]\nC> type=EDS V= N=a R=[a,b] err=\"bad\"\nS< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[a,b]\n", "none"},
		"it was accepted":    {"C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a]\nC> type=EDS V=1 N=a R=[a,b]\nS< type=EDS V=2 N=b res=[b]\nC> type=EDS V=2 N=b R=[a,b]\n", "a"},
	} {
		x, _ := play(t, tc.script)
		got := "not known"
		last, none := x.AcceptedBefore(lastResponse(x))
		if r, ok := x.BySeq(last); ok {
			got = x.Words(&r).Nonce
		} else if none {
			got = "none"
		}
		if got != tc.want {
			t.Errorf("%s: %s, not %s", name, got, tc.want)
		}
	}
}

// Texts are found again whichever block they are in, and no block grows.
func TestTextsOfManyBlocks(t *testing.T) {
	var a arena
	texts := make(map[uint32]string)
	for i := 0; len(a.blocks) < 3; i++ {
		s := strings.Repeat("x", 200+i%300) + fmt.Sprint(i)
		texts[a.add(s)] = s
	}
	for at, want := range texts {
		if got := a.text(at); got != want {
			t.Fatalf("at %d stands %q, not %q", at, got, want)
		}
	}
	for i, b := range a.blocks {
		if len(b) > arenaBlock || i < 2 && len(b) < arenaBlock-maxText {
			t.Errorf("block %d has %d bytes", i, len(b))
		}
	}
}

// Rows tell what a message does beside its foremost word, and how many resources it is
// about.
func TestRowsAreAskedForAll(t *testing.T) {
	x, _ := play(t, "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a,b,c]\nS< type=EDS V=2 N=b res=[a]\nC> type=EDS V=2 N=b R=[a,b,c]\n"+
		"-- stream 2\nD> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=[x@1,y@1,z@1]\nD> type=CDS N=a\n")
	for text, want := range map[string]string{
		"kind:sub": "SUB EDS 2; ACK EDS 3; SUB CDS 1", "kind:ack": "ACK EDS 3; ACK EDS 3; ACK CDS -",
		"res:>1": "SUB EDS 2; RESP EDS 2; ACK EDS 3; ACK EDS 3; DELTA CDS 3", "res:1": "RESP EDS 1; SUB CDS 1", "res:<1": "",
	} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, at := x.Last()
		f.Begin(x.First(), at)
		var got []string
		for _, i := range x.Scan(NewMatcher(f), nil, 0, x.Len()) {
			r, _ := x.Row(int(i))
			count := fmt.Sprint(r.Count)
			if r.Count == None || r.Count == engine.Everything {
				count = "-"
			}
			got = append(got, fmt.Sprintf("%s %s %s", r.What, x.Words(&r).Type, count))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s takes %q, not %q", text, got, want)
		}
	}
}

// Counts and waits fall, what has none comes last whichever way round, and what has no
// resource is not what has no count.
func TestOrderOfNumbers(t *testing.T) {
	x := mixed(5)
	for i, n := range []int32{2, None, 0, engine.Everything, 7} {
		x.row(i).Count = n
	}
	for i, us := range []uint32{3, 0, 1, 9, 0} {
		x.row(i).waited = us
	}
	for _, tc := range []struct {
		by     Column
		turned bool
		want   []uint32
	}{
		{ByCount, false, []uint32{4, 0, 2, 3, 1}},
		{ByCount, true, []uint32{3, 2, 0, 4, 1}},
		{ByWait, false, []uint32{3, 0, 2, 1, 4}},
		{ByWait, true, []uint32{2, 0, 3, 1, 4}},
	} {
		if got := x.Order(tc.by, nil, tc.turned); !slices.Equal(got, tc.want) {
			t.Errorf("by %d, turned %t: %v, not %v", tc.by, tc.turned, got, tc.want)
		}
	}
}

// The first entries of a stream are of the client that is named there, and not of the
// one that was named last on the connection.
func TestClientsOfAConnection(t *testing.T) {
	p := newPlaces()
	var at []uint32
	for stream := range session.StreamID(3) {
		at = append(at, p.of(&session.Entry{Conn: 1, Stream: stream}))
	}
	p.named(at[1], 7)
	p.named(at[2], 8)
	p.named(at[2], 0)
	other := p.of(&session.Entry{Conn: 1, Stream: 9})
	apart := p.of(&session.Entry{Conn: 2, Stream: 10})
	for place, want := range map[uint32]uint32{at[0]: 8, at[1]: 7, at[2]: 8, other: 8, apart: 0, 0: 0} {
		if got := p.clientAt(place); got != want {
			t.Errorf("the client of place %d is %d, not %d", place, got, want)
		}
	}
}

// A note that silences a rule is of the client and the type of the entry that it is
// about, if that has a row.
func TestSilenceOfAnEntry(t *testing.T) {
	x := New()
	for i, typ := range []string{"CDS", "EDS"} {
		e := session.Entry{Seq: session.Seq(2*i + 2), Time: time.Unix(1, 0), Conn: 1, Stream: 1, Kind: session.KindMessage, Message: &session.Message{}}
		x.add(&e, &check.Change{Change: engine.Change{Client: fmt.Sprint("n", i), Type: typ}})
	}
	for about, want := range map[session.Seq]Silence{2: {"r", 2, "n0", "CDS"}, 3: {"r", 3, "", ""}, 4: {"r", 4, "n1", "EDS"}, 5: {"r", 5, "", ""}} {
		x.silences = nil
		x.silence(&session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteSilenced, Text: "r", About: about}})
		if got := x.Silences(); !slices.Equal(got, []Silence{want}) {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
}

// Of an entry behind the last row nothing is known, also where no row more fits a block.
func TestBehindTheLastRow(t *testing.T) {
	for _, n := range []int{1, blockRows} {
		x := mixed(n)
		last := session.Seq(n)
		behind := Row{Seq: last + 1}
		if _, ok := x.BySeq(last + 1); ok || x.Find(last+1) != n {
			t.Errorf("of %d rows: there is one more", n)
		}
		for what, got := range map[string]session.Seq{
			"connection": x.Connection(last + 1), "first request": x.FirstRequest(last + 1), "version before": x.Version(last+1, false), "next version": x.Version(last+1, true),
			"request before": x.RequestBefore(last + 1), "next on its stream": x.OnStream(&behind, true),
		} {
			if got != 0 {
				t.Errorf("of %d rows: its %s is %d", n, what, got)
			}
		}
		if rows, _, later := x.Conversation(last+1, "", last+1, 1, 1); len(rows) == 0 || rows[len(rows)-1].Seq != last || later {
			t.Errorf("of %d rows: the last of the conversation are %v", n, seqsOf(rows))
		}
		x.silence(&session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteSilenced, About: last + 1}})
		if got := x.understand(session.Entry{Seq: last + 1}); got.client != "" || x.Silences()[0].Client != "" {
			t.Errorf("of %d rows: its client is %q", n, got.client)
		}
	}
}

// Waits are shown from the first power of two that there is.
func TestBucketsBeginWithTheShortest(t *testing.T) {
	for _, tc := range []struct {
		waits []uint32
		want  string
	}{
		{nil, "[] 1µs"}, {[]uint32{0}, "[1] 1µs"}, {[]uint32{3}, "[1] 1µs"}, {[]uint32{4}, "[1] 4µs"}, {[]uint32{7, 7}, "[2] 4µs"}, {[]uint32{8, 31}, "[1 1] 8µs"}, {[]uint32{1000, 1024, 5000}, "[1 1 0 1] 512µs"},
	} {
		var w Waits
		for _, us := range tc.waits {
			w.add(us)
		}
		if counts, from := w.Buckets(); fmt.Sprint(counts, " ", from) != tc.want {
			t.Errorf("%v: %v from %v, not %s", tc.waits, counts, from, tc.want)
		}
	}
}

// Who brought a resource is found among those that are still in the log.
func TestCarrierThatIsGone(t *testing.T) {
	all := entriesOf(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[c1]\nC> type=CDS V=2 N=b R=[]\n")
	x := New()
	NewFeed(x, check.Options{}).Run(t.Context(), &inMemory{entries: all}, false, nil)
	newest := lastResponse(x).Seq
	without := slices.DeleteFunc(slices.Clone(all), func(e session.Entry) bool { return e.Seq == newest })
	for _, tc := range []struct {
		among []session.Entry
		want  session.Seq
	}{{all, newest}, {without, x.Version(newest, false)}, {without[:1], 0}} {
		f := NewFetcher(x, func() (Reader, error) { return &inMemory{entries: tc.among}, nil })
		if got := f.Carrier(t.Context(), "n1", "CDS", "c1"); got != tc.want {
			t.Errorf("c1 came with %d, not %d", got, tc.want)
		}
		f.Close()
	}
}

// dated is one of these of which something is known.
type dated struct {
	inMemory
	asked int
}

func (d *dated) Facts() recorder.Facts {
	d.asked++
	return recorder.Facts{Version: uint32(d.asked)}
}

func (d *dated) Next(ctx context.Context) (session.Entry, error) {
	if d.at == len(d.entries) {
		return session.Entry{}, io.EOF
	}
	return d.inMemory.Next(ctx)
}

// The facts about a log are those at its end.
func TestFactsOfAFeed(t *testing.T) {
	r := &dated{inMemory: inMemory{entries: entriesOf(t, rejected)}}
	f := NewFeed(New(), check.Options{})
	if got := f.Facts(); got.Version != 0 {
		t.Errorf("version %d", got.Version)
	}
	f.Run(t.Context(), r, false, nil)
	if got := f.Facts(); got.Version != uint32(r.asked) || r.asked == 0 {
		t.Errorf("version %d of %d", got.Version, r.asked)
	}
}

// Of so many entries it is known what they prove. Of others the row says how grave it is.
func TestProofsThatAreRemembered(t *testing.T) {
	x := New()
	x.proofs = make(map[session.Seq][]filterFinding, maxProofs)
	for i := range session.Seq(maxProofs - 1) {
		x.proofs[1000+i] = nil
	}
	found := []check.Finding{{Rule: &check.Rule{ID: "r"}, Severity: check.Warning}}
	for seq, known := range map[session.Seq]int{1: 1, 2: 0} {
		if seq == 2 {
			x.proofs[3] = nil
		}
		r := Row{Seq: seq}
		x.prove(&r, found)
		if got := x.Proofs(seq); len(got) != known || r.Severity != Severity(check.Warning)+1 {
			t.Errorf("%d proves %v, severity %d", seq, got, r.Severity)
		}
		delete(x.proofs, 1)
		delete(x.proofs, 3)
	}
}
