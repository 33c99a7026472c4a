package trigger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text  string
		finds []string // the conditions, or what the error says
		err   bool
	}{
		{"error", []string{"error"}, false},
		{"error,warning", []string{"error", "warning"}, false},
		{"nack-received, error", []string{"nack-received", "error"}, false},
		{"kind:nack client:a,b", []string{"kind:nack client:a,b"}, false},
		{"type:cds,eds", []string{"type:cds,eds"}, false},
		{"eror", []string{"did you mean error?"}, true},
		{"nack-recieved", []string{"did you mean nack-received?"}, true},
		{"error,kind:nack", []string{`"kind:nack" is neither a rule`}, true},
		{"eds-for-unknown-cluster", []string{"is off"}, true},
		{"marked:yes", []string{"whole recording"}, true},
		{"kinf:nack", []string{"kinf"}, true},
		{"", []string{"neither a rule"}, true},
	} {
		got, err := Parse([]string{c.text})
		if c.err != (err != nil) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), c.finds[0]) {
				t.Errorf("%q: %v, want %q in it", c.text, err, c.finds[0])
			}
			continue
		}
		var texts []string
		for _, g := range got {
			texts = append(texts, g.Text)
		}
		if !slices.Equal(texts, c.finds) {
			t.Errorf("%q is %q, want %q", c.text, texts, c.finds)
		}
	}
}

func of(t *testing.T, every time.Duration, texts ...string) *Trigger {
	t.Helper()
	c, err := Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	return New(c, every)
}

func found(rule, client, typ string, cause int) check.Finding {
	for _, r := range check.Rules() {
		if r.ID == rule {
			return check.Finding{Rule: r, Severity: r.Severity, Client: client, Type: typ, Cause: cause, Seqs: []session.Seq{3}, LastSeq: 4}
		}
	}
	panic(rule)
}

// One cause has one moment in a time, found anew or once more, and so has what
// several clients have in common.
func TestOncePerCause(t *testing.T) {
	tr, begin := of(t, time.Minute, "warning", "response-nonce-missing"), time.Now()
	step := func(after time.Duration, repeated bool, found ...check.Finding) int {
		c := &check.Change{Findings: found}
		if repeated {
			c = &check.Change{}
			for i := range found {
				c.Repeated = append(c.Repeated, &found[i])
			}
		}
		// The time of entries is what somebody may have set, and is no matter.
		e := &session.Entry{Seq: 9, Time: begin.Add(-after * 1000)}
		return len(tr.Step(e, c, begin.Add(after)))
	}
	nack := found("nack-received", "a", "CDS", 1)
	for i, c := range []struct {
		got, want int
	}{
		{step(0, false, nack), 1},
		{step(1, false, nack), 0},
		{step(2, true, nack), 0},
		{step(3, false, found("nack-received", "b", "CDS", 1)), 0}, // the same on another client
		{step(4, false, found("nack-received", "b", "CDS", 2)), 1},
		{step(5, false, found("nack-received", "a", "EDS", 3)), 1},
		{step(6, false, found("needless-push", "a", "EDS", 4)), 0}, // an info
		{step(7, false, found("response-nonce-missing", "a", "EDS", 5)), 1},
		{step(8, false, found("ack-version-unknown", "a", "EDS", 6)), 0}, // another error
		{step(time.Minute, true, nack), 1},
	} {
		if c.got != c.want {
			t.Errorf("step %d: %d moments, want %d", i, c.got, c.want)
		}
	}
}

// What several rules say of one client with one entry has one cause, and is named
// after the worst. None of them has another one after that, each by itself.
func TestOnePerEntry(t *testing.T) {
	tr, now := of(t, time.Minute, "warning", "error", "kind:nack"), time.Now()
	tr.conditions[2].Wants = func(*session.Entry, *check.Change) bool { return true }
	step := func(seq session.Seq, found ...check.Finding) []Moment {
		c := &check.Change{Findings: found}
		c.Client, c.Type = "a", "CDS"
		return tr.Step(&session.Entry{Seq: seq}, c, now)
	}
	nack, nonce, other := found("nack-received", "a", "CDS", 1), found("response-nonce-missing", "a", "EDS", 2), found("nack-received", "b", "CDS", 3)
	m := step(9, nack, nonce, other)
	if len(m) != 2 || m[0].What != "response-nonce-missing" || !m[0].Rule || m[0].Type != "EDS" || len(m[0].Found) != 2 || len(m[0].Seqs) != 5 || m[1].Client != "b" {
		t.Fatalf("%+v", m)
	}
	if m := append(step(10, nack), step(11, nonce)...); len(m) != 0 {
		t.Errorf("once more: %+v", m)
	}
	if m := step(12, nack, found("ack-version-unknown", "a", "CDS", 4)); len(m) != 1 || m[0].What != "ack-version-unknown" || len(m[0].Found) != 1 {
		t.Errorf("of what is new beside what is known: %+v", m)
	}
}

// What came to nothing does not count: the next time does, but not at once, so that
// a full disk is not written to all the time.
func TestFailed(t *testing.T) {
	tr, now := of(t, time.Hour, "error"), time.Now()
	f := found("response-nonce-missing", "a", "CDS", 1)
	step := func(after time.Duration, f check.Finding) []Moment {
		return tr.Step(&session.Entry{Seq: 1}, &check.Change{Findings: []check.Finding{f}}, now.Add(after))
	}
	tried := 0
	for after := time.Duration(0); after < time.Hour; after += time.Second {
		for _, m := range step(after, f) {
			tried++
			tr.Failed(&m, now.Add(after))
			if len(tr.last) != 0 || len(step(after, f)) != 0 {
				t.Fatalf("after %s: %d count, or it is tried again at once", after, len(tr.last))
			}
		}
	}
	if tried < 2*Most || tried > int(time.Hour/pause) {
		t.Errorf("tried %d times", tried)
	}
	if m := step(time.Hour, f); len(m) != 1 {
		t.Error("in the end it could be written, and is not")
	}
	if m := step(time.Hour+pause, f); len(m) != 0 {
		t.Error("there are two of one cause")
	}
}

// Whoever makes up causes for ever gets a few dumps in a time, and no memory.
func TestCausesWithoutEnd(t *testing.T) {
	tr, now := of(t, time.Hour, "error"), time.Now()
	fired, most := 0, 0
	f := found("response-nonce-missing", "", "CDS", 0)
	for i := range 100_000 {
		f.Client, f.Cause = fmt.Sprintf("client-%d", i), i+1
		n := len(tr.Step(&session.Entry{Seq: 1}, &check.Change{Findings: []check.Finding{f}}, now.Add(time.Duration(i)*time.Second)))
		fired += n
		most = max(most, int(tr.fired.Cost()))
	}
	hours := 100_000/3600 + 1
	if fired < Most || fired > hours*Most || tr.Skipped() != uint64(100_000-fired) {
		t.Errorf("%d moments in %d hours, and %d skipped", fired, hours, tr.Skipped())
	}
	if most > mostCauses || len(tr.last) > Most {
		t.Errorf("%d causes are remembered", most)
	}
}

// A filter is asked of each entry, and what is repeated from before is no news.
func TestFilter(t *testing.T) {
	tr := of(t, time.Minute, "kind:nack", "error")
	asked := 0
	tr.conditions[0].Wants = func(*session.Entry, *check.Change) bool { asked++; return true }
	if m := tr.Step(&session.Entry{Seq: 1, Carried: true}, &check.Change{}, time.Now()); len(m) != 0 || asked != 1 {
		t.Errorf("%+v of an entry that is repeated, asked %d times", m, asked)
	}
	m := tr.Step(&session.Entry{Seq: 2}, &check.Change{}, time.Now())
	if len(m) != 1 || m[0].Seq != 2 || m[0].Rule || m[0].Found != nil || !slices.Equal(m[0].Seqs, []session.Seq{2}) {
		t.Errorf("%+v", m)
	}
}
