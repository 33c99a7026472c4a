package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
)

// judged holds a script against all rules.
func judged(t *testing.T, text string) *check.Checker {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := check.Select([]string{"all"}, nil)
	k := check.NewChecker(check.Options{Rules: rules})
	for e := range s.Entries() {
		k.Step(&e)
	}
	return k
}

// fleet is three clients that reject the same, for a reason of many words.
func fleet() string {
	var b strings.Builder
	for i := 1; i <= 3; i++ {
		fmt.Fprintf(&b, `-- stream %d
C> type=CDS V= N= R=[] node=gateway-%d-in-a-rather-long-namespace
S< type=CDS V=7 N=a res=[c1{eds}]
C> type=CDS V= N=a R=[] err="Error adding/updating cluster(s) c1: Proto constraint validation failed (\"connect_timeout\")" code=13
`, i, i)
	}
	return b.String()
}

func within(t *testing.T, columns int, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if w := Width(strings.TrimSuffix(line, "\n")); w > columns {
			t.Errorf("%d columns: %q", w, line)
		}
	}
}

func holds(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

// What clients have in common is said once, and fits on a narrow screen; in a
// pipe a message is one line.
func TestFindingsOfAFleet(t *testing.T) {
	k := judged(t, fleet())
	r := NewReport()
	r.Add("", k.Findings(), k.Summary())
	text := r.Text(Style{}, 80, true)
	within(t, 80, text)
	holds(t, text, "~ nack-received  CDS  x3 clients\n", "gateway-3-in-a-rather-long-namespace", "0 errors, ")
	if n := strings.Count(text, "~ nack-received"); n != 1 {
		t.Errorf("%d blocks:\n%s", n, text)
	}
	holds(t, r.Text(Style{}, 0, true), "    version \"7\" with 1 resource rejected with code 13 (INTERNAL): `Error adding/updating cluster(s) c1: Proto constraint validation failed (\"connect_timeout\")`; new: \"c1\"; nothing was accepted on its stream before\n")
	if got := r.Foremost(false); got != "nack-received" {
		t.Errorf("foremost is %q", got)
	}
	for _, f := range r.Findings {
		if f.Rule == "nack-received" && (len(f.Clients) != 3 || f.Client != f.Clients[0] || f.Count != 3) {
			t.Errorf("for machines: %+v", f)
		}
	}
}

// Below a line of watch, a finding keeps to the screen.
func TestFindingLine(t *testing.T) {
	all := judged(t, fleet()).Findings()
	if len(all) == 0 {
		t.Fatal("nothing was found")
	}
	for _, f := range all {
		text := NewTable(80, Style{}).FindingLine(&f)
		within(t, 80, text)
		if strings.Contains(NewTable(0, Style{}).FindingLine(&f), "\n") {
			t.Error("more than a line in a pipe")
		}
		for line := range strings.Lines(strings.TrimPrefix(text, "~      ")) {
			if !strings.HasPrefix(line, "       ") && !strings.HasPrefix(line, f.Rule.ID) {
				t.Errorf("not below the times: %q", line)
			}
		}
	}
}

func TestStandingAndTreeFit(t *testing.T) {
	k := judged(t, fleet())
	s := NewStanding(k.Status(), 9, time.Time{})
	narrow, wide := s.Text(Style{}, 80), s.Text(Style{}, 0)
	within(t, 80, narrow)
	holds(t, wide, "gateway-3-in-a-rather-long-namespace  ", "KIND", "LAST")
	holds(t, narrow, "CDS: rejected 7, accepted none (entry ")
	// Narrower: what a client is goes first, then when it last said something.
	head := func(text string) string { first, _, _ := strings.Cut(text, "\n"); return first }
	most := len(head(wide))
	for columns := most + 40; columns >= 40; columns-- {
		text := s.Text(Style{}, columns)
		within(t, columns, text)
		kind, last := strings.Contains(head(text), "KIND"), strings.Contains(head(text), "LAST")
		if kind && !last {
			t.Errorf("%d columns: LAST goes before KIND:\n%s", columns, text)
		}
		if columns >= 120 && (!kind || !last) || columns == 40 && kind {
			t.Errorf("%d columns: %q", columns, head(text))
		}
	}
	for _, c := range k.Status() {
		tree := NewTree(k.Tree(c.Client), 9)
		within(t, 60, tree.Text(Style{}, 60))
		holds(t, tree.Text(Style{}, 0), "CDS  c1  ")
	}
}

// How often a client has rejected in a row, what cannot be told, and what is last
// known of a stream that has ended, in both forms.
func TestStandingOfTheUnsettled(t *testing.T) {
	k := judged(t, `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c2]
C> type=CDS V=1 N=b R=[] err="bad"
S< type=CDS V=2 N=c res=[c2]
C> type=CDS V=1 N=c R=[] err="bad"
C> type=LDS V= N= R=[]
S< type=LDS V=1 N= res=[l1]
-- stream 2
C> type=RDS V= N= R=[r] node=n1
S< type=RDS V=7 N=a res=[r]
C> type=RDS V=7 N=a R=[r]
t=+5s -- server-end code=14
`)
	s := NewStanding(k.Status(), 9, k.Now.Add(time.Minute))
	holds(t, s.Text(Style{}, 80), "UNKNOWN 1m  (SYNCED 1m)  NACKED ×2 1m", "CDS: rejected 2, 2 times in a row, accepted 1 (entry 10): bad", "( ) as it was when its stream ended, so long ago")
	j, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, string(j), `"state":"UNKNOWN"`, `"nacks":2,"last_nack":"bad","last_nack_seq":10`, `"nacks":0,"gone":"2026-01-01T00:00:05.000000000Z"`)
}

// The columns of a tree stand below each other at any depth.
func TestTreeColumns(t *testing.T) {
	k := judged(t, `C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[l1{rds=a-name-that-is-long-enough-to-shift-what-stands-behind-it}]
C> type=LDS V=1 N=a R=[]
C> type=RDS V= N= R=[a-name-that-is-long-enough-to-shift-what-stands-behind-it]
S< type=RDS V=1 N=b res=[a-name-that-is-long-enough-to-shift-what-stands-behind-it{c1}]
C> type=RDS V=1 N=b R=[a-name-that-is-long-enough-to-shift-what-stands-behind-it]
`)
	for _, columns := range []int{0, 60, 120} {
		at := map[int]bool{}
		text := NewTree(k.Tree("n1"), 0).Text(Style{}, columns)
		for line := range strings.Lines(text) {
			for _, state := range []string{"ACKED", "MISSING"} {
				if before, _, is := strings.Cut(line, state); is {
					at[Width(before)] = true
				}
			}
		}
		if len(at) != 1 {
			t.Errorf("states in %d columns:\n%s", len(at), text)
		}
	}
}

func TestRulePagesFit(t *testing.T) {
	list := RuleList(check.Rules(), Style{}, 80)
	within(t, 80, list)
	for _, r := range check.Rules() {
		holds(t, "\n\n"+list, "\n\n"+r.Group+"\n", " "+r.ID+" ")
		page := RulePage(r, Style{}, 80)
		within(t, 80, strings.ReplaceAll(page, "xdsproxy check SOURCE --enable "+r.ID, "")) // is copied as it is
		holds(t, page, "\nUsual causes\n", "\nWhat to do\n")
	}
}
