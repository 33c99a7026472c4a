package index

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// toldOf is a conversation of those that package render tells, read whole.
func toldOf(t *testing.T, name string) (*Index, *Feed, *Fetcher, []session.Entry) {
	t.Helper()
	path := filepath.Join("..", "..", "internal", "render", "testdata", "told", name+".xds")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	entries := slices.Collect(s.Entries())
	x := New()
	feed := NewFeed(x, check.Options{})
	if feed.Done() {
		t.Error("done before it began")
	}
	feed.Run(context.Background(), &inMemory{entries: entries}, false, nil)
	fetch := NewFetcher(x, func() (Reader, error) { return &inMemory{entries: entries}, nil })
	t.Cleanup(fetch.Close)
	if feed.Err() != nil || !feed.Done() {
		t.Fatal(feed.Err())
	}
	return x, feed, fetch, entries
}

func seqsOf(rows []Row) (out []session.Seq) {
	for i := range rows {
		out = append(out, rows[i].Seq)
	}
	return out
}

func compared(c *Compared) string {
	s := fmt.Sprintf("%s %s %+v > %+v", c.Name, c.Kind, c.Old, c.New)
	if c.Lost != Known {
		s += fmt.Sprintf(", lost %d", c.Lost)
	}
	if c.Result != nil {
		for change := range c.Result.Changes() {
			s += fmt.Sprintf(", %s %s", change.Kind, change.Path)
		}
	}
	if c.Only != nil {
		s += fmt.Sprintf(", has %d members", len(c.Only.Members))
	}
	return s
}

func aroundText(a Around) string {
	s := fmt.Sprintf("none=%t", a.None)
	if a.Partner != nil {
		s += fmt.Sprintf(" partner=%d", a.Partner.Entry.Seq)
	}
	if a.Held != nil {
		s += fmt.Sprintf(" held=%d", a.Held.Seq)
	}
	if a.Peer != nil {
		s += " peer=" + a.Peer.Client
	}
	return s
}

// TestTold: what the index knows of each entry, and of those around it.
func TestTold(t *testing.T) {
	for _, name := range []string{"aggregated", "delta", "beside", "effect"} {
		x, feed, fetch, entries := toldOf(t, name)
		ctx, b := context.Background(), &strings.Builder{}
		rows, last := x.Extent()
		fmt.Fprintf(b, "%d rows to %d, %d gaps\n", rows, last, x.Gaps())
		for i := range entries {
			seq := entries[i].Seq
			r, ok := x.BySeq(seq)
			if !ok { // nobody needs to see it
				continue
			}
			if at, _ := x.Row(x.Find(seq)); at != r {
				t.Fatalf("%d is at %d", seq, x.Find(seq))
			}
			w := x.Words(&r)
			acc, none := x.Accepted(&r)
			before, noneBefore := x.AcceptedBefore(r)
			fmt.Fprintf(b, "%d %s %q v=%q n=%q pair=%d before=%d verdict=%s accepted=%d,%t before=%d,%t waited=%v count=%d flags=%b severity=%d\n",
				seq, w.Type, w.Text, w.Version, w.Nonce, r.Partner(), r.Before(), x.Verdict(&r), acc, none, before, noneBefore, r.Waited(), r.Count, r.Flags, r.Severity)
			fmt.Fprintf(b, "  versions %d %d, request before %d, connection %d, first %d, on stream %d %d, proofs %d, client %q\n",
				x.Version(seq, false), x.Version(seq, true), x.RequestBefore(seq), x.Connection(seq), x.FirstRequest(seq), x.OnStream(&r, false), x.OnStream(&r, true),
				len(x.Proofs(seq)), x.Client(&r))
			got, err := fetch.Fetch(ctx, seq)
			if err != nil {
				t.Fatal(err)
			}
			unread, words := got[seq].Unread()
			fmt.Fprintf(b, "  unread %s %d %d %q %q %q %q\n", unread.What, unread.Size, unread.Count, words.Version, words.Nonce, words.Text, words.Client)
			fmt.Fprintf(b, "  around %s\n", aroundText(fetch.Around(ctx, seq)))
			if wire, err := got[seq].Wire(3); len(wire) > 0 || err != "" {
				fmt.Fprintf(b, "  wire: %d fields %s\n", len(wire), err)
			}
			if doc, err := got[seq].Document(); err != nil || len(doc.JSON()) == 0 || (got[seq].Body() == "") != (entries[i].Message == nil) {
				t.Errorf("%d: %v, body %q", seq, err, got[seq].Body())
			}
			switch a, err := fetch.Against(ctx, seq, true); {
			case err != nil:
				if w.Type != "" && r.What.Response() {
					fmt.Fprintf(b, "  %v\n", err)
				}
			default:
				fmt.Fprintf(b, "  against: %s %v\n", a.Type, a.Count)
				for j := range a.Resources {
					fmt.Fprintf(b, "    %s\n", compared(&a.Resources[j]))
				}
			}
		}
		for _, m := range []struct {
			seq, around   session.Seq
			client        string
			before, after int
		}{{8, 8, "", 3, 3}, {8, 8, "", 100, 100}, {8, 8, "n1", 2, 4}, {8, 30, "n1", 5, 1}, {99, 99, "", 2, 2}, {1, 1, "", 5, 0}, {8, 8, "nobody", 1, 1}} {
			rows, earlier, later := x.Conversation(m.seq, m.client, m.around, m.before, m.after)
			fmt.Fprintf(b, "conversation %+v: %d %t %t\n", m, seqsOf(rows), earlier, later)
		}
		for _, text := range []string{"kind:nack", "type:cds", "kind:ack type:eds", "size>1k", "resources>2", "rule:nack-received", "not kind:message", "stream:2", "severity:error", "latency>0s", "version:1", "also:sub", "marked:yes", "client:n1 kind:resp", "what:sub", "side:server"} {
			f, err := filter.Parse(text)
			if err != nil {
				fmt.Fprintf(b, "%s: %v\n", text, err)
				continue
			}
			if !Answerable(f) {
				fmt.Fprintf(b, "%s needs more than rows\n", text)
				continue
			}
			f.Begin(x.First(), entries[len(entries)-1].Time)
			m := NewMatcher(f)
			fmt.Fprintf(b, "%s: %d, of the first ten %d\n", text, x.Scan(m, nil, 0, rows), x.Scan(m, nil, 0, 10))
		}
		for _, c := range append(feed.clients(), "nobody") {
			for _, typ := range []string{"CDS", "EDS", "LDS"} {
				fmt.Fprintf(b, "%s %s: c1 came with %d, l1 with %d\n", c, typ, fetch.Carrier(ctx, c, typ, "c1"), fetch.Carrier(ctx, c, typ, "l1"))
			}
			fmt.Fprintf(b, "tree %t, effects %d\n", feed.Tree(c) != nil, len(feed.EffectsOf(c)))
		}
		names, n, _ := fetch.Names(0)
		again, _, _ := fetch.Names(n)
		fmt.Fprintf(b, "names: %d %v, then %v\n", n, names, again)
		heads, forgotten := feed.Pushes()
		fmt.Fprintf(b, "%d pushes, %d forgotten\n", len(heads), forgotten)
		fmt.Fprintf(b, "folds %v\n", x.Folds(nil, 0))
		s := x.Stats()
		fmt.Fprintf(b, "stats %d messages, %d bytes, %d %d, again %d, clients %d, long %v\n", s.Messages, s.Bytes, s.Acks, s.Nacks, s.Again, s.Clients, s.Long)
		for _, ty := range s.Types {
			fmt.Fprintf(b, "  %s %d %d %d %d %d, waited %d at most %v\n", ty.Type, ty.Messages, ty.Bytes, ty.Acks, ty.Nacks, ty.Again, ty.Wait.Count(), ty.Wait.Max())
		}
		for i := range s.Biggest {
			fmt.Fprintf(b, "  %d %s %s %d\n", s.Biggest[i].Row.Seq, s.Biggest[i].Client, s.Biggest[i].Type, s.Biggest[i].Row.Size)
		}
		fmt.Fprintf(b, "  %+v\n", s.Talkers)
		golden.Is(t, filepath.Join("testdata", name+".txt"), b.String())
	}
}

// clients are those that the checker knows, by name.
func (f *Feed) clients() (out []string) {
	standing, _ := f.Standing()
	for i := range standing {
		out = append(out, standing[i].Client)
	}
	slices.Sort(out)
	return out
}

// Two messages, and a resource in two responses, are compared as a whole.
func TestMessages(t *testing.T) {
	x, _, fetch, entries := toldOf(t, "aggregated")
	ctx, b := context.Background(), &strings.Builder{}
	var responses []session.Seq
	for i := range entries {
		if r, _ := x.BySeq(entries[i].Seq); r.What.Response() {
			responses = append(responses, r.Seq)
		}
	}
	for _, old := range append(responses[:6:6], 1, 4, 999) {
		c, err := fetch.Messages(ctx, old, responses[2])
		if err != nil {
			fmt.Fprintf(b, "%d: %v\n", old, err)
			continue
		}
		fmt.Fprintf(b, "%d: %s\n", old, compared(c))
	}
	if c, err := fetch.Messages(ctx, responses[0], responses[0]); err != nil || c.Kind != diff.Same {
		t.Errorf("%v, %v", c, err)
	}
	for _, pair := range [][2]session.Seq{{0, 0}, {responses[0], 0}, {0, responses[0]}, {responses[0], responses[0]}, {responses[0], 999}, {1, responses[0]}} {
		c, err := fetch.Resources(ctx, "c3", pair[0], pair[1])
		if err != nil {
			fmt.Fprintf(b, "%d: %v\n", pair, err)
			continue
		}
		fmt.Fprintf(b, "%d: %s\n", pair, compared(c))
	}
	golden.Is(t, filepath.Join("testdata", "messages.txt"), b.String())
}

// Marks and remarks are those of people, and bounded.
func TestMarks(t *testing.T) {
	x, _, _, _ := toldOf(t, "delta")
	note := func(code session.NoteCode, about session.Seq, text string) bool {
		return x.Annotate(&session.Note{Code: code, About: about, Text: text})
	}
	begin := x.Markings()
	for _, about := range []session.Seq{7, 3, 3} {
		if !note(session.NoteMark, about, "") || !x.Marked(about) {
			t.Errorf("%d is not marked", about)
		}
	}
	if got := x.Marks(); !slices.Equal(got, []session.Seq{3, 7}) || x.Marked(4) {
		t.Errorf("%v", got)
	}
	note(session.NoteUnmark, 3, "")
	note(session.NoteRemark, 5, "  look \n")
	if x.Marked(3) || x.Remark(5) != "look" || x.Markings() != begin+5 {
		t.Errorf("%t %q %d", x.Marked(3), x.Remark(5), x.Markings()-begin)
	}
	note(session.NoteRemark, 5, " ")
	if x.Remark(5) != "" {
		t.Error("an empty remark stays")
	}
	if !note(session.NoteMark, 0, "") || !note(session.NoteDialFailed, 5, "x") || x.Markings() != begin+6 {
		t.Error("what is about nothing counts")
	}
	// The log says what somebody else has said; of that, who looks knows better.
	x.annotateFrom(&session.Note{Code: session.NoteMark, About: 3})
	x.annotateFrom(&session.Note{Code: session.NoteMark, About: 9})
	x.annotateFrom(nil)
	if x.Marked(3) || !x.Marked(9) {
		t.Error("an older note of the log counts")
	}
	for n, want := range map[int]int{maxRemark: maxRemark, maxRemark + 1: maxRemark + len("…")} {
		if note(session.NoteRemark, 5, strings.Repeat("x", n)); len(x.Remark(5)) != want {
			t.Errorf("a remark of %d has %d bytes", n, len(x.Remark(5)))
		}
	}
	for i := range maxRemarks - 1 {
		note(session.NoteRemark, session.Seq(1000+i), "x")
	}
	if note(session.NoteRemark, 9999, "x") || !note(session.NoteRemark, 1000, "y") || x.Remark(1000) != "y" || x.Remark(9999) != "" {
		t.Error("remarks have no bound")
	}
	for i := range maxMarks - 2 {
		note(session.NoteMark, session.Seq(1000+i), "")
	}
	if len(x.Marks()) != maxMarks || note(session.NoteMark, 1<<30, "") || !note(session.NoteMark, 1000, "") || x.Marked(1<<30) {
		t.Errorf("%d marks", len(x.Marks()))
	}
}

// A quantile is known to a quarter, and never longer than the longest.
func TestQuantiles(t *testing.T) {
	var w Waits
	if w.Quantile(0.5) != 0 || w.Count() != 0 {
		t.Error("nothing has waited")
	}
	for _, us := range []uint32{0, 1, 3, 4, 5, 7, 8, 9, 10, 100, 1000, 1000000} {
		w.add(us)
	}
	for share, want := range map[float64]time.Duration{0: 0, 0.1: 0, 0.2: 1, 0.25: 3, 0.34: 4, 0.5: 7, 0.6: 9, 0.75: 11, 0.83: 111, 0.9: 1023, 1: 1000000} {
		if got := w.Quantile(share); got != want*time.Microsecond {
			t.Errorf("%v: %v, want %v", share, got, want*time.Microsecond)
		}
	}
	counts, from := w.Buckets()
	if w.Max() != time.Second || w.Count() != 12 {
		t.Errorf("%v %d", w.Max(), w.Count())
	}
	if got := fmt.Sprint(counts, from); got != "[3 3 3 0 0 1 0 0 1 0 0 0 0 0 0 0 0 0 1] 1µs" {
		t.Error(got)
	}
}
