package effect_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// entriesOf are those of a recording, or of a script.
func entriesOf(t *testing.T, path string) []session.Entry {
	t.Helper()
	if strings.HasSuffix(path, ".xds") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := script.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Collect(s.Entries())
	}
	return recordertest.Entries(t, path)
}

// What is known of each resource, at the end of each story that tells what clients
// hold, and of the sessions that do.
func TestAccount(t *testing.T) {
	var b bytes.Buffer
	for _, path := range asking(t) {
		fmt.Fprintf(&b, "%s\n", filepath.Base(path))
		k := check.NewChecker(check.Options{})
		named := map[[3]string]bool{} // of clients
		began, last := time.Time{}, ""
		for _, e := range entriesOf(t, path) {
			if began.IsZero() {
				began = e.Time
			}
			c := k.Step(&e)
			if c.Client == "" {
				continue
			}
			for _, n := range c.Names() {
				named[[3]string{c.Client, c.Type, n}] = true
			}
			if c.Message != nil {
				for _, n := range append(slices.Clone(c.Added), c.Removed...) {
					named[[3]string{c.Client, c.Type, n}] = true
				}
			}
			if text := standing(k, c.Client, began); e.Kind == session.KindHeld && text != last {
				fmt.Fprintf(&b, "  %d: %s", e.Seq, text)
				last = text
			}
		}
		for _, c := range k.Status() {
			fmt.Fprintf(&b, "  end: %s", standing(k, c.Client, began))
		}
		all := make([][3]string, 0, len(named))
		for n := range named {
			all = append(all, n)
		}
		slices.SortFunc(all, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
		for _, n := range all {
			if e, known := k.Effects().Of(n[0], n[1], n[2]); known {
				fmt.Fprintf(&b, "    %s\n", words(&e, began))
			}
		}
	}
	golden.Is(t, "testdata/accounts.golden", b.String())
}

func standing(k *check.Checker, client string, began time.Time) string {
	s := k.Effects().Standing(client)
	text := fmt.Sprintf("%s %s, %d behind and %d more %s\n", client, s.Answer(), len(s.Behind), s.More, s.Unread)
	for _, typ := range engineTypes(s.Counts) {
		n := s.Counts[typ]
		text += fmt.Sprintf("    %s %d of %d known of %d: %s\n", typ, n.InEffect, n.Known, n.All, n.Answer())
	}
	for i := range s.Behind {
		text += "    behind: " + words(&s.Behind[i], began) + "\n"
	}
	return text
}

func engineTypes(counts map[string]effect.Count) (out []string) {
	for typ := range counts {
		out = append(out, typ)
	}
	slices.Sort(out)
	return out
}

// words are all that is said of a resource, with times from the beginning.
func words(e *effect.Effect, began time.Time) string {
	at := func(m effect.Moment) string {
		switch {
		case !m.Known():
			return "-"
		case m.At.IsZero():
			return fmt.Sprintf("%d+?", m.Seq)
		}
		return fmt.Sprintf("%d+%s", m.Seq, m.At.Sub(began).Round(time.Millisecond))
	}
	took, known := e.Took()
	return fmt.Sprintf("%s %s %s v%s removed=%t sent=%s accepted=%s rejected=%s effective=%s %s (%s) %q waits=%q took=%s,%t",
		e.Client, e.Type, e.Name, e.Version, e.Removed, at(e.Sent), at(e.Accepted), at(e.Rejected), at(e.Effective),
		e.State, e.State.Answer(), e.Why, e.Waits, took.Round(time.Millisecond), known)
}

// Nothing took longer than the whole recording, also where a client was asked for the
// first time when it had long accepted what it has.
func TestTook(t *testing.T) {
	took := 0
	for _, path := range asking(t) {
		all := entriesOf(t, path)
		for _, entries := range [][]session.Entry{all, askedLater(all)} {
			k := check.NewChecker(check.Options{})
			for _, e := range entries {
				k.Step(&e)
			}
			length := all[len(all)-1].Time.Sub(all[0].Time)
			for _, c := range k.Status() {
				for _, e := range k.Effects().Client(c.Client) {
					d, known := e.Took()
					if known {
						took++
					}
					if d > length {
						t.Errorf("%s, of %s: %s %s took %s", filepath.Base(path), length, e.Type, e.Name, d)
					}
				}
			}
		}
	}
	if took < 10 {
		t.Errorf("it is known of %d only", took)
	}
}

// A client that is asked for the first time when it has accepted something has as long to
// use it as any other, and no longer. What it has instead cannot be compared.
func TestAskedLate(t *testing.T) {
	late := func(entries []session.Entry) (out []string) {
		k := check.NewChecker(check.Options{})
		for _, e := range entries {
			k.Step(&e)
		}
		for _, f := range k.Findings() {
			if f.Rule.ID == "accepted-not-effective" && !strings.Contains(f.Message, "another content") {
				out = append(out, fmt.Sprintf("%v %v %s", f.Seqs, f.Names, f.Message))
			}
		}
		return out
	}
	same := 0
	for _, path := range asking(t) {
		if strings.HasSuffix(path, "two-places.xds") { // of which one speaks before
			continue
		}
		all := entriesOf(t, path)
		want, got := late(all), late(askedLater(all))
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, and %q where it is asked before", filepath.Base(path), got, want)
		}
		same += len(want)
	}
	if same < 6 {
		t.Errorf("%d findings only", same)
	}
}

// asking are the conversations in which clients say what they hold.
func asking(t *testing.T) (out []string) {
	t.Helper()
	for _, glob := range []string{"stories/*effective*.xds", "stories/csds-divergence*.xds", "catalogue/accepted-not-effective*.xds", "catalogue/effective-not-sent*.xds", "sessions/envoy-sotw-held.xdsp"} {
		found, err := filepath.Glob("../../check/testdata/" + glob)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d, %v", glob, len(found), err)
		}
		out = append(out, found...)
	}
	return out
}

// askedLater is a conversation without what clients said before they accepted anything.
func askedLater(entries []session.Entry) []session.Entry {
	k, accepted := engine.New(engine.Options{}), false
	return slices.DeleteFunc(slices.Clone(entries), func(e session.Entry) bool {
		accepted = accepted || k.Step(&e).What == engine.ACK
		return e.Kind == session.KindHeld && !accepted
	})
}

// What is let go of is counted, and is unknown from then on.
func TestAccountIsBounded(t *testing.T) {
	var a effect.Account
	if a.Expected() || a.Forgotten() != 0 {
		t.Error("it has seen something")
	}
	k := engine.New(engine.Options{})
	for _, e := range entriesOf(t, "../../check/testdata/sessions/demo.xdsp") {
		c := k.Step(&e)
		a.Step(k, &e, &c)
	}
	if s := a.Standing("demo-envoy"); a.Expected() || s.Expected || s.Counts != nil || s.Answer() != "unknown" {
		t.Errorf("without a word of clients it says %+v", s)
	}
	if _, known := a.Of("demo-envoy", "CDS", "payments"); known {
		t.Error("it knows what nobody said")
	}
}

// What a client said that it holds may have been lost, too: after a gap nothing is known
// until it says all of it again. What was left out on purpose is no such gap.
func TestGap(t *testing.T) {
	const text = `-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[]
t=+1s -- held node=n1 CDS/active=[c1#1]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=2 N=b R=[]
t=+1s -- tick
t=+40s -- held node=n1 changed=true
t=+1s -- held node=n1 CDS/active=[c1#2]
`
	s, err := script.Parse("gap.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	entries := slices.Collect(s.Entries())
	at := slices.IndexFunc(entries, func(e session.Entry) bool { return e.Kind == session.KindTime })
	for cause, want := range map[session.GapCause][3]string{
		session.Lost:    {"unknown", "unknown", "effective"},
		session.Cut:     {"unknown", "other-content", "effective"},
		session.CutBare: {"unknown", "other-content", "effective"},
	} {
		k := check.NewChecker(check.Options{})
		var got []string
		for i, e := range entries {
			if i == at {
				e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Side: session.Proxy, Gap: &session.Gap{First: e.Seq, Last: e.Seq, Entries: 1, Cause: cause}}
			}
			k.Step(&e)
			if i >= at {
				of, _ := k.Effects().Of("n1", "CDS", "c1")
				got = append(got, of.State.String())
				if lost := strings.Contains(of.Why, "entries were lost"); lost != (cause == session.Lost && of.State == effect.Unknown) {
					t.Errorf("%v, entry %d: %q", cause, e.Seq, of.Why)
				}
			}
		}
		if !slices.Equal(got, want[:]) {
			t.Errorf("%v: %q, want %q", cause, got, want)
		}
	}
}
