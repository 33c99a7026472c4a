package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
)

// A long text is cut after so many lines, or in the line in which it has so many bytes.
// What is left out is counted.
func TestCutText(t *testing.T) {
	const bytes = 10
	for _, c := range []struct {
		name, text, want string
		most             int
	}{
		{"as many lines", "1\n2\n", "1\n2\n", 2},
		{"one more", "1\n2\n3\n", "1\n2\n# 1 line more\n", 2},
		{"two more", "1\n2\n3\n4\n", "1\n2\n# 2 lines more\n", 2},
		{"as many bytes", "123456789\n1\n", "123456789\n1\n", 9},
		{"one byte more", "1234567890\n1\n", "1234567890\n# 1 line more\n", 9},
		{"a long line", strings.Repeat("x", 2*bytes), strings.Repeat("x", 2*bytes), 9},
		{"a line that is too long", strings.Repeat("x", 2*bytes+1), "xxxxxxxxxx\n# and 11 B more\n", 9},
		{"not in a character", strings.Repeat("x", bytes-1) + strings.Repeat("ü", bytes), "xxxxxxxxx\n# and 19 B more\n", 9},
	} {
		if got := cutText(c.text, c.most, bytes); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A report lists so many notes, and counts those beyond.
func TestNotesOfAReportHaveABound(t *testing.T) {
	for more, want := range []string{"", "\nAnd 1 more.", "\nAnd 2 more."} {
		o := &Report{Notes: notes.New(time.Time{})}
		for n := range reportListed + more {
			o.Notes.Entries[session.Seq(n+1)] = notes.Note{Marked: true}
		}
		a := account{said: notes.New(time.Time{})}
		var lines []string
		a.listNotes(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }, o)
		listed, said := 0, ""
		for _, l := range lines {
			if strings.HasPrefix(l, "- entry ") {
				listed++
			} else if strings.Contains(l, "more") {
				said = l
			}
		}
		if listed != reportListed || said != want {
			t.Errorf("%d over the bound: %d are listed, %q", more, listed, said)
		}
	}
}

// What does not fit into the steps of a ladder is counted.
func TestStepsOfAPartHaveABound(t *testing.T) {
	s, err := script.Parse("test", []byte("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(s.Entries())
	last := all[len(all)-1].Seq
	explains := 0 // entries that explain the last one
	for room := range 3 {
		k, p := engine.New(engine.Options{}), &part{seqs: map[session.Seq]bool{}, excerpt: engine.NewExcerpt()}
		for n := range reportSteps - room {
			p.seqs[1000+session.Seq(n)] = true
		}
		for i := range all {
			c := k.Step(&all[i])
			p.excerpt.Step(&all[i], &c, all[i].Seq == last)
		}
		if explains = len(p.excerpt.Context()); explains < 3 {
			t.Fatalf("%d entries explain the last one", explains)
		}
		if p.choose(); len(p.drawn) != reportSteps || p.left != explains-room {
			t.Errorf("with room for %d: %d are drawn, %d are left of %d", room, len(p.drawn), p.left, explains)
		}
	}
}

// Which entries belong to an extent.
func TestExtents(t *testing.T) {
	for _, c := range []struct {
		name   string
		proof  Proof
		extent Extent
		want   string
	}{
		{"the entries", Proof{Seqs: []session.Seq{4}}, TheEntries, "4"},
		{"what is after an entry", Proof{Seqs: []session.Seq{2}, From: 5}, TheEntries, "2 5 6 7"},
		{"from the first", Proof{From: 1}, TheEntries, "1 2 3 4 5 6 7"},
		{"the streams", Proof{Seqs: []session.Seq{4}}, TheStreams, "1 3 4 7"},
		{"the way", Proof{Seqs: []session.Seq{4}}, TheWay, "1 2 3 4"},
		{"the way, and what is after it", Proof{Seqs: []session.Seq{4}, From: 7}, TheWay, "1 2 3 4 7"},
		{"the clients", Proof{Seqs: []session.Seq{4}}, TheClients, "1 2 3 4 6 7"},
		{"a finding", Proof{Findings: []check.Finding{{Stream: 3, Seqs: []session.Seq{0}}}}, TheStreams, "5"},
		{"all of it", Proof{}, TheSession, "1 2 3 4 5 6 7"},
	} {
		walk := func(visit Visit) error {
			for i, stream := range []session.StreamID{1, 2, 1, 1, 3, 2, 1} {
				ch := &check.Change{}
				if ch.Client = "a"; stream == 3 {
					ch.Client = "b"
				}
				if err := visit(&session.Entry{Seq: session.Seq(i + 1), Stream: stream}, ch, false); err != nil {
					return err
				}
			}
			return nil
		}
		of := choiceOf(&c.proof)
		if err := of.learn(walk); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := of.walk(walk, c.extent)(func(e *session.Entry, _ *check.Change, chosen bool) error {
			if chosen {
				got = append(got, fmt.Sprint(e.Seq))
			}
			return nil
		})
		if text := strings.Join(got, " "); err != nil || text != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, text, err, c.want)
		}
	}
}
