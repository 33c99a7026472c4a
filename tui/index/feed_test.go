package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// broken is one of these, of which an entry cannot be read.
type broken struct {
	inMemory
	at       session.Seq
	why      error
	panics   bool
	seekFail error
	closed   *int
	facts    int // how often it was asked for them
}

func (b *broken) Next(ctx context.Context) (session.Entry, error) {
	e, err := b.inMemory.Next(ctx)
	if err == nil && e.Seq == b.at {
		if b.panics {
			var none *session.Message
			none.Size++
		}
		return session.Entry{}, b.why
	}
	return e, err
}

func (b *broken) Seek(seq session.Seq) error {
	if b.seekFail != nil {
		return b.seekFail
	}
	return b.inMemory.Seek(seq)
}

func (b *broken) Close() error { *b.closed++; return nil }

func (b *broken) Facts() recorder.Facts { b.facts++; return recorder.Facts{} }

func entriesOf(t *testing.T, text string) []session.Entry {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(s.Entries())
}

const rejected = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V= N=a R=[] err=\"bad\"\nS< type=CDS V=2 N=b res=[c1{eds}]\n"

// A log ends, or who reads it stops, or it cannot be read, or what reads it has a
// fault: what was read until then stays, and only the last two are errors.
func TestFeedEnds(t *testing.T) {
	all := entriesOf(t, rejected)
	for name, tc := range map[string]struct {
		broken broken
		cancel bool
		rows   int
		aside  int // entries without a row
		err    string
	}{
		"at its end":     {rows: len(all) - 1, aside: 1},
		"it is damaged":  {broken: broken{at: 3, why: errors.New("bad block")}, rows: 2, err: "bad block"},
		"it has a fault": {broken: broken{at: 3, panics: true}, rows: 2, err: "reading failed (runtime.errorString) at tui/index"},
		"it is stopped":  {broken: broken{at: 1, why: context.Canceled}, cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.cancel {
				cancel()
			}
			r := &tc.broken
			r.entries = all
			x := New()
			f := NewFeed(x, check.Options{})
			before := x.Generation()
			f.Run(ctx, r, false, nil)
			got := ""
			if f.Err() != nil {
				got = f.Err().Error()
			}
			if x.Len() != tc.rows || !strings.HasPrefix(got, tc.err) || tc.err == "" && got != "" || !f.Done() {
				t.Errorf("%d rows of %d, %q, done %t", x.Len(), tc.rows, got, f.Done())
			}
			if n := x.Generation() - before; n != uint64(tc.rows+tc.aside)+1 {
				t.Errorf("it changed %d times", n)
			}
			if r.facts == 0 {
				t.Error("nobody has asked what was read")
			}
		})
	}
}

// What was found is told once, with the entry that proves it, and is there later.
func TestFeedTells(t *testing.T) {
	var told []check.Finding
	x := New()
	f := NewFeed(x, check.Options{})
	if _, at := x.Last(); !at.IsZero() || !x.First().IsZero() {
		t.Error("an empty log has a time")
	}
	f.Run(t.Context(), &inMemory{entries: entriesOf(t, rejected)}, false, func(found []check.Finding) {
		if len(found) == 0 {
			t.Error("nothing is told")
		}
		told = append(told, found...)
	})
	all := f.Findings()
	if len(told) == 0 || len(all) == 0 {
		t.Fatalf("%d were told of %d", len(told), len(all))
	}
	for _, seq := range []session.Seq{told[0].LastSeq, all[0].Seqs[0]} {
		if of := Findings(all, seq); len(of) == 0 || of[0].Rule != all[0].Rule {
			t.Errorf("%d is involved in %v", seq, of)
		}
	}
	if of := Findings(all, 999); len(of) != 0 {
		t.Errorf("999 is involved in %v", of)
	}
	heads, _ := f.Pushes()
	if len(heads) == 0 {
		t.Fatal("no pushes")
	}
	if p, ok := f.Push(heads[0].N); !ok || p.N != heads[0].N {
		t.Errorf("push %d is %d, %t", heads[0].N, p.N, ok)
	}
	if _, ok := f.Push(999); ok {
		t.Error("there is a push 999")
	}
	standing, _ := f.Standing()
	if f.Effects(standing) != nil || f.EffectsOf("n1") != nil {
		t.Error("nobody says what it uses")
	}
	_, held, _, _ := toldOf(t, "effect")
	standing, at := held.Standing()
	if of := held.Effects(standing); len(of) != len(standing) || at.IsZero() {
		t.Errorf("%d of %d clients say what they use, at %v", len(of), len(standing), at)
	}
	if _, in := held.EffectsOf("n1")[[2]string{"CDS", "c1"}]; !in {
		t.Error("it is not known how far c1 got")
	}
}

// Where a fault was is said by the first function of this program below it.
func TestFirstOfOurs(t *testing.T) {
	const m = "github.com/xdsproxy/xdsproxy/"
	for stack, want := range map[string]string{
		"":                           "an unknown place",
		"goroutine 1\nmain.main()\n": "an unknown place",
		m + "tui/index.firstOfOurs(0x1)\n" + m + "decode.Peek(0x2, 0x3)\n": "decode.Peek",
		m + "tui/index.(*Feed).Run.func2(0x1)\n" + m + "check.step(...)\n": "check.step(...)",
		m + "check.step({0x1})\n\tx.go:1 (0x5)":                            "check.step({0x1})",
		m + "check.a\n" + m + "check.b(0x1)":                               "check.a",
		m + "\n" + m + "check.c(0x1)":                                      "check.c",
		m + "check.last":                                                   "an unknown place",
	} {
		if got := firstOfOurs([]byte(stack)); got != want {
			t.Errorf("%q: %q, not %q", stack, got, want)
		}
	}
}

// An entry is read again wherever the reader is; that it is not there, or cannot be
// read, is said, and the next time a new reader is opened.
func TestFetch(t *testing.T) {
	ctx := t.Context()
	var b strings.Builder
	b.WriteString("C> type=CDS V= N= R=[] node=n1\n")
	for i := range 2 * stride {
		fmt.Fprintf(&b, "S< type=CDS V=%d N=n%d res=[c1]\n", i, i)
	}
	all := entriesOf(t, b.String())
	x := New()
	NewFeed(x, check.Options{}).Run(ctx, &inMemory{entries: all}, false, nil)
	opened, closed := 0, 0
	var r *broken
	var openErr error
	f := NewFetcher(x, func() (Reader, error) {
		if opened++; openErr != nil {
			return nil, openErr
		}
		r.closed, r.entries = &closed, all
		return r, nil
	})
	f.Close() // it has nothing to let go of
	without := slices.Delete(slices.Clone(all), 19, 20)
	carried := slices.Clone(all)
	carried[19].Carried = true
	for _, tc := range []struct {
		name   string
		broken broken
		open   error
		among  []session.Entry
		seqs   []session.Seq
		got    int
		says   string
	}{
		{name: "near and far, twice", seqs: []session.Seq{400, 3, 2 + stride, 2, 400}, got: 4},
		{name: "one that is the last", seqs: []session.Seq{all[len(all)-1].Seq}, got: 1},
		{name: "behind the end, and before it", seqs: []session.Seq{9999, 8}, got: 1, says: "not in the recording any more"},
		{name: "one is gone", among: without, seqs: []session.Seq{19, 20, 21}, got: 2, says: "not in the recording any more"},
		{name: "one is repeated from before", among: carried, seqs: []session.Seq{19, 20, 21}, got: 2, says: "not in the recording any more"},
		{name: "one is damaged", broken: broken{at: 30, why: errors.New("bad block")}, seqs: []session.Seq{29, 30, 31}, got: 2, says: "cannot read it: bad block"},
		{name: "it cannot be sought", broken: broken{seekFail: errors.New("no index")}, seqs: []session.Seq{400}, says: "no index"},
		{name: "it cannot be opened", open: errors.New("no such file"), seqs: []session.Seq{4}, says: "no such file"},
	} {
		f.Close()
		clear(f.cache)
		f.order, f.bytes = nil, 0
		r, openErr = &tc.broken, tc.open
		was := all
		if tc.among != nil {
			all = tc.among
		}
		got, err := f.Fetch(ctx, tc.seqs...)
		all = was
		if len(got) != tc.got || tc.says == "" && err != nil || !strings.Contains(fmt.Sprint(err), tc.says) && tc.says != "" {
			t.Errorf("%s: %d entries, %v", tc.name, len(got), err)
		}
		for seq, one := range got {
			if one.Entry.Seq != seq {
				t.Errorf("%s: %d is %d", tc.name, seq, one.Entry.Seq)
			}
		}
		if _, err := f.fetchOne(ctx, tc.seqs[0]); tc.got == 0 && !strings.HasPrefix(fmt.Sprint(err), fmt.Sprintf("cannot show %d: ", tc.seqs[0])) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	f.Close()
	if closed == 0 || closed > opened {
		t.Errorf("%d readers were opened and %d closed", opened, closed)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	r, openErr = &broken{}, nil
	if got, err := f.Fetch(stopped, 50, 51); len(got) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

// What is kept of what was read has a bound: the oldest goes, and what is much too
// large is never kept.
func TestCacheIsBounded(t *testing.T) {
	f := NewFetcher(New(), nil)
	keep := func(seq session.Seq, size int64) {
		f.keep(seq, &Fetched{Entry: session.Entry{Message: &session.Message{Data: session.Chunks{make([]byte, size)}}}})
	}
	keep(1, maxCached/4-1024+1)
	if len(f.cache) != 0 || f.bytes != 0 {
		t.Errorf("%d entries, %d bytes", len(f.cache), f.bytes)
	}
	for seq := session.Seq(2); seq < 6; seq++ {
		keep(seq, maxCached/4-1024)
	}
	if len(f.cache) != 4 || f.bytes != maxCached || len(f.order) != 4 {
		t.Errorf("%d entries, %d bytes", len(f.cache), f.bytes)
	}
	f.keep(6, &Fetched{})
	if len(f.cache) != 4 || f.bytes != maxCached*3/4+1024 || f.cache[2] != nil || f.cache[3] == nil || f.cache[6] == nil || f.order[0] != 3 {
		t.Errorf("%v, %d bytes", f.order, f.bytes)
	}
}

// What a request adds and takes away is told from the one before it, and from
// nothing of the first one; of an entry that the index does not know yet, only what
// it says itself.
func TestFetchedNames(t *testing.T) {
	const text = "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=a res=[a,b]\nC> type=EDS V=1 N=a R=[a,b]\nC> type=EDS V=1 N=a R=[b,c]\n" +
		"S< type=EDS V=2 N=b res=[c]\nC> type=EDS V=1 N=b R=[b,c] err=\"bad\"\nS< type=EDS V=3 N=c res=[c]\nC> type=EDS V=3 N=c R=[c,d]\n" +
		"-- stream 2\nD> type=CDS N= sub=[x,y] node=n1\nd< type=CDS N=a res=[x@1] rm=[y]\nD> type=CDS N=a unsub=[y]\n"
	all := entriesOf(t, text)
	known, unknown := New(), New()
	NewFeed(known, check.Options{}).Run(t.Context(), &inMemory{entries: all}, false, nil)
	for what, tc := range map[string]struct {
		index *Index
		want  string
	}{
		"known": {known, "SUB +[a b] -[] of n1; RESP +[] -[] of n1; ACK +[] -[] of n1; SUB +[c] -[a] of n1; RESP +[] -[] of n1; NACK +[] -[] of n1; RESP +[] -[] of n1; ACK SUB +[d] -[b] of n1; " +
			"SUB +[x y] -[] of n1; DELTA +[] -[y] of n1; ACK UNSUB +[] -[y] of n1"},
		"not yet": {unknown, ""},
	} {
		f := NewFetcher(tc.index, func() (Reader, error) { return &inMemory{entries: all}, nil })
		var out []string
		for i := range all {
			got, err := f.fetchOne(t.Context(), all[i].Seq)
			if err != nil {
				t.Fatal(err)
			}
			c := &got.Change
			if all[i].Kind == session.KindMessage && tc.want != "" {
				what := strings.Join(append([]string{c.What}, c.Also...), " ")
				out = append(out, fmt.Sprintf("%s +%v -%v of %s", what, c.Added, c.Removed, c.Client))
			}
			if tc.index == unknown {
				if row, _ := got.Unread(); row.Flags != Unread|Uncertain || c.What != "" || c.Client != "" {
					t.Errorf("%d: %+v", all[i].Seq, c)
				}
			}
		}
		if got := strings.Join(out, "; "); got != tc.want {
			t.Errorf("%s:\n%s\nnot\n%s", what, got, tc.want)
		}
		f.Close()
	}
	masked := Fetched{Entry: all[slices.IndexFunc(all, func(e session.Entry) bool { return e.Kind == session.KindMessage })]}
	m := *masked.Entry.Message
	m.Masked, masked.Entry.Message = true, &m
	if row, _ := masked.Unread(); row.Flags != Unread|Uncertain|Masked {
		t.Errorf("flags %b", row.Flags)
	}
}

// Numbers that do not fit a row are not known, and sizes that do not fit it are the
// greatest that do.
func TestRowBounds(t *testing.T) {
	for _, tc := range []struct {
		seq, from session.Seq
		want      uint32
	}{
		{0, 5, 0}, {5, 5, 0}, {6, 5, 0}, {4, 5, 1}, {1, 1 + math.MaxUint32, math.MaxUint32}, {1, 2 + math.MaxUint32, 0},
	} {
		if got := away(tc.seq, tc.from); got != tc.want {
			t.Errorf("%d is %d before %d", tc.seq, got, tc.from)
		}
	}
	if saturate(int64(math.MaxUint32)) != math.MaxUint32 || saturate(int64(math.MaxUint32)+1) != math.MaxUint32 || saturate(uint64(7)) != 7 {
		t.Error("a size wraps")
	}
	for w := Nothing; w <= DELTA; w++ {
		if whatOf(w.String()) != w || w.Request() != (w == NACK || w == ACK || w == SUB || w == UNSUB || w == REQ) || w.Response() != (w == RESP || w == DELTA) {
			t.Errorf("%s is taken for %s", w, whatOf(w.String()))
		}
	}
	if whatOf("another") != Nothing {
		t.Error("another word is known")
	}
	x := New()
	if _, ok := x.Row(0); ok || x.Find(1) != 0 {
		t.Error("an empty index has a row")
	}
	x = mixed(3)
	if rows := x.Rows(nil, -1, 3); len(rows) != 2 || rows[0].Seq != 1 {
		t.Errorf("%d rows from before the first", len(rows))
	}
	if rows := x.Rows(nil, 1, 9); len(rows) != 2 || rows[0].Seq != 2 {
		t.Errorf("%d rows from the second on", len(rows))
	}
	if _, ok := x.Row(-1); ok {
		t.Error("there is a row before the first")
	}
	if _, ok := x.Row(3); ok {
		t.Error("there is a row behind the last")
	}
	if _, ok := x.BySeq(4); ok {
		t.Error("there is a row of an entry that has not come")
	}
}

// What is remembered of names, of notes that silence rules, of proofs, and of responses
// that are searched has a bound each.
func TestBoundsOfWhatIsRemembered(t *testing.T) {
	var m met
	m.add("CDS", "")

	if len(m.list) != 0 {
		t.Errorf("%d names", len(m.list))
	}
	for i := range 1 << 15 {
		m.add("CDS", fmt.Sprint(i))
		m.add("EDS", fmt.Sprint(i)) // a name is remembered once
	}
	if len(m.list) != 1<<15 || len(m.seen) != 1<<15 || m.lost.Load() {
		t.Errorf("%d names", len(m.list))
	}
	m.add("CDS", strings.Repeat("x", maxMet-m.size-perMet))
	if m.add("CDS", "0"); len(m.list) != 1<<15+1 || m.lost.Load() {
		t.Errorf("%d names, some are lost: %v", len(m.list), m.lost.Load())
	}
	if m.add("CDS", "y"); len(m.list) != 1<<15+1 || !m.lost.Load() {
		t.Errorf("%d names, none is lost", len(m.list))
	}
	x := New()
	for i := range maxSilences + 1 {
		x.silence(&session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteSilenced, Text: fmt.Sprint(i)}})
		x.silence(&session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteMark}})
		x.silence(&session.Entry{Kind: session.KindGap})
	}
	if all := x.Silences(); len(all) != maxSilences || all[maxSilences-1].Rule != fmt.Sprint(maxSilences-1) {
		t.Errorf("%d silences", len(all))
	}
	x, _, _, _ = toldOf(t, "aggregated")
	client := ""
	for i := range x.Len() {
		if r, _ := x.Row(i); r.What.Response() && x.Words(&r).Type == "CDS" {
			client = x.Client(&r)
			break
		}
	}
	all := x.responses(client, "CDS", 100)
	for most := range len(all) + 2 {
		if got := x.responses(client, "CDS", most); !slices.Equal(got, all[:min(most, len(all))]) {
			t.Errorf("at most %d of %v: %v", most, all, got)
		}
	}
	if len(all) < 2 {
		t.Errorf("%q was sent %v", client, all)
	}
}
