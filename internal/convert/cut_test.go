package convert_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// sessions are the recordings of real peers that the rules are held to.
func sessions(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../check/testdata/sessions/*.xdsp")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	return files
}

// read gives back the entries of a recording, and what was met.
func read(t testing.TB, path string) ([]session.Entry, recorder.Facts) {
	t.Helper()
	r, err := recorder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []session.Entry
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, r.Facts()
}

// walkOf walks over entries, of which is chosen what choose says.
func walkOf(all []session.Entry, choose func(e *session.Entry, c *check.Change) bool) convert.Walk {
	return func(visit convert.Visit) error {
		k := check.NewChecker(check.Options{})
		for i := range all {
			c := k.Step(&all[i])
			if err := visit(&all[i], &c, choose(&all[i], &c)); err != nil {
				return err
			}
		}
		return nil
	}
}

// told is what a Tracker says of each entry.
func told(all []session.Entry) map[session.Seq]string {
	out := make(map[session.Seq]string)
	tr := check.NewTracker(nil)
	for i := range all {
		c := tr.Step(&all[i])
		version, nodes := "", ""
		if c.Message != nil {
			version = c.Message.Version
		}
		if c.Node != nil {
			nodes = fmt.Sprint(*c.Node)
		}
		n, is := c.Count()
		out[all[i].Seq] = fmt.Sprintf("%s %v %q client=%q %s node=%s type=%s answers=%d waited=%s +%v -%v n=%d,%t", c.What, c.Also, version,
			c.Client, c.Variant, nodes, c.Type, c.Answers, c.Waited, c.Added, c.Removed, n, is)
	}
	return out
}

var cuts = flag.Int("cuts", 6, "parts that are cut out of each recording")

type cause struct{ rule, client, typ string }

// proved is what rules find, without what needs no word.
func proved(all []session.Entry) map[cause]check.Finding {
	k := check.NewChecker(check.Options{})
	for i := range all {
		k.Step(&all[i])
	}
	out := make(map[cause]check.Finding)
	for _, f := range k.Findings() {
		out[cause{f.Rule.ID, f.Client, f.Type}] = f
	}
	return out
}

// Whatever is cut out of a session says of the chosen entries what the whole
// says, is a recording without damage or loss, and proves nothing that the
// whole does not prove. Nor does what is cut out without its context.
func TestCutsTellTheTruth(t *testing.T) {
	for n, file := range sessions(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".xdsp")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, facts := read(t, file)
			whole, findings := told(all), proved(all)
			kept := 0
			for i := range *cuts {
				rng := rand.New(rand.NewPCG(uint64(n), uint64(i)))
				chosen := selection(rng, all)
				choose := func(e *session.Entry, _ *check.Change) bool { return chosen[e.Seq] }
				path := filepath.Join(t.TempDir(), "cut.xdsp")
				bare := i%5 == 4
				done, err := convert.Cut(path, facts, walkOf(all, choose), convert.CutOptions{Bare: bare})
				if err != nil {
					t.Fatal(err)
				}
				if done.Entries != uint64(len(chosen)) {
					t.Fatalf("%d entries of %d", done.Entries, len(chosen))
				}
				cut, is := read(t, path)
				if is.Gaps != facts.Gaps && facts.Gaps == 0 || is.Lost > facts.Lost || is.Damaged || !is.Complete || !is.Created.Equal(facts.Created) {
					t.Fatalf("cut %d: %+v", i, is)
				}
				again := told(cut)
				if bare && done.Context != 0 {
					t.Errorf("cut %d: %d entries beside the chosen ones", i, done.Context)
				}
				for seq := range chosen {
					if bare {
						break // what they mean cannot be told
					}
					if again[seq] != whole[seq] {
						t.Errorf("cut %d: entry %d is\n%s, in the whole\n%s", i, seq, again[seq], whole[seq])
					}
				}
				for c, f := range proved(cut) {
					was, is := findings[c]
					if bare && c.client == "" { // it may not be known who it is
						is, was = known(findings, c), f
					}
					if !is || f.Severity > was.Severity {
						t.Errorf("cut %d, of %d: %s: %s: %s (%v)", i, len(chosen), f.Severity, f.Rule.ID, f.Message, f.Seqs)
					} else {
						kept++
					}
				}
				holes(t, all, cut)
			}
			if len(findings) > 0 && kept == 0 {
				t.Logf("no cut proves any of %d findings", len(findings))
			}
		})
	}
}

// known says whether something was found of any client.
func known(findings map[cause]check.Finding, c cause) bool {
	for k := range findings {
		if k.rule == c.rule && k.typ == c.typ {
			return true
		}
	}
	return false
}

// selection is some entries: a range, some single ones, or those of a stream.
func selection(rng *rand.Rand, all []session.Entry) map[session.Seq]bool {
	chosen := make(map[session.Seq]bool)
	add := func(i int) { chosen[all[i].Seq] = true }
	switch rng.IntN(4) {
	case 0:
		from := rng.IntN(len(all))
		for i := from; i < min(len(all), from+1+rng.IntN(12)); i++ {
			add(i)
		}
	case 1:
		for range 1 + rng.IntN(6) {
			add(rng.IntN(len(all)))
		}
	case 2:
		stream := all[rng.IntN(len(all))].Stream
		for i := range all {
			if all[i].Stream == stream && rng.IntN(3) > 0 {
				add(i)
			}
		}
	default:
		for i := range all {
			if all[i].Kind == session.KindMessage && rng.IntN(2) > 0 {
				add(i)
			}
		}
	}
	if len(chosen) == 0 {
		add(rng.IntN(len(all)))
	}
	return chosen
}

// holes holds a cut against its source: what is in both is the same but for its
// mark, and whatever is missing is in a gap that follows it.
func holes(t *testing.T, all, cut []session.Entry) {
	t.Helper()
	byGap := make(map[session.Seq]bool)
	have := make(map[session.Seq]session.Entry)
	for _, e := range cut {
		have[e.Seq] = e
		if g := e.Gap; g != nil && g.Cause.Chosen() {
			if e.Seq != g.Last || g.First > g.Last {
				t.Errorf("gap %d: %+v", e.Seq, g)
			}
			for s := g.First; s <= g.Last; s++ {
				byGap[s] = true
			}
		}
	}
	for _, e := range all {
		if e.Seq > cut[len(cut)-1].Seq {
			break
		}
		got, is := have[e.Seq]
		switch {
		case byGap[e.Seq]:
			if is && !got.Gap.Cause.Chosen() {
				t.Errorf("entry %d is there, and in a gap", e.Seq)
			}
		case !is:
			t.Errorf("entry %d is missing, and in no gap", e.Seq)
		case !got.Time.Equal(e.Time) || got.Kind != e.Kind || got.Stream != e.Stream || (e.Message == nil) != (got.Message == nil):
			t.Errorf("entry %d is %+v, was %+v", e.Seq, got, e)
		case e.Message != nil && string(e.Message.Data.Bytes()) != string(got.Message.Data.Bytes()):
			t.Errorf("the message of entry %d is another", e.Seq)
		}
	}
}

// What the recording had lost already counts as what it lost, and not once more for
// the entry that tells of it.
func TestCutOverAGap(t *testing.T) {
	remark := &session.Note{Code: session.NoteRemark, Text: "look"}
	lost := &session.Gap{First: 3, Last: 8, Entries: 6, Bytes: 500, Streams: []session.StreamID{2}}
	all := []session.Entry{
		{Seq: 1, Kind: session.KindNote, Side: session.Proxy, Note: remark},
		{Seq: 2, Kind: session.KindNote, Side: session.Proxy, Note: remark},
		{Seq: 8, Kind: session.KindGap, Side: session.Proxy, Gap: lost},
		{Seq: 9, Kind: session.KindNote, Side: session.Proxy, Note: remark},
	}
	path := filepath.Join(t.TempDir(), "cut.xdsp")
	ends := func(e *session.Entry, _ *check.Change) bool { return e.Seq == 1 || e.Seq == 9 }
	done, err := convert.Cut(path, recorder.Facts{}, walkOf(all, ends), convert.CutOptions{Bare: true})
	if err != nil || done.Entries != 2 || done.LeftOut != 7 {
		t.Fatalf("%+v, %v", done, err)
	}
	cut, _ := read(t, path)
	if g := cut[1].Gap; len(cut) != 3 || g == nil || g.First != 2 || g.Last != 8 || g.Entries != 7 || g.Bytes != 500 || len(g.Streams) != 1 {
		t.Errorf("%d entries, the gap is %+v", len(cut), g)
	}
}
