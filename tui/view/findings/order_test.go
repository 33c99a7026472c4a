package findings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// made are findings that are in another place in each order.
func made() []check.Finding {
	a, b := &check.Rule{ID: "a-rule"}, &check.Rule{ID: "b-rule"}
	return []check.Finding{
		{Rule: b, Cause: 1, Severity: check.Warning, Client: "n2", Count: 5, LastSeq: 40},
		{Rule: a, Cause: 2, Severity: check.Error, Client: "n3", Count: 1, LastSeq: 10},
		{Rule: a, Cause: 3, Severity: check.Info, Client: "n1", Count: 3, LastSeq: 30},
		{Rule: b, Cause: 4, Severity: check.Warning, Client: "n2", Count: 5, LastSeq: 40},
		{Rule: a, Cause: 5, Severity: check.Error, Client: "n9", Count: 9, LastSeq: 90},
	}
}

// In each order of findings equals are by the last entry, the latest first, and then as
// they came. What is known is behind all others, whichever way round.
func TestOrders(t *testing.T) {
	for _, tc := range []struct {
		by     findingOrder
		turned bool
		want   string
	}{
		{gravestFirst, false, "2 1 4 3 5"},
		{gravestFirst, true, "3 4 1 2 5"},
		{latestFinding, false, "1 4 3 2 5"},
		{latestFinding, true, "2 3 4 1 5"},
		{byRule, false, "3 2 1 4 5"},
		{byRule, true, "4 1 2 3 5"},
		{byClient, false, "3 1 4 2 5"},
		{byClient, true, "2 4 1 3 5"},
		{mostOften, false, "1 4 3 2 5"},
		{mostOften, true, "2 3 4 1 5"},
	} {
		l := MakeFindingList(findingQuery{sort: tc.by, turned: tc.turned}, made(), map[int]bool{5: true}, nil)
		var got []string
		for _, i := range l.Rows {
			got = append(got, fmt.Sprint(l.all[i].Cause))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s, turned %t: %v, not %s", tc.by, tc.turned, got, tc.want)
		}
	}
}

// What is selected is the entry that proved a finding last; of one that several clients
// have, the last of those that proved it first, which are of the client that is named.
func TestSelectedEntry(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	for _, tc := range []struct {
		seqs    []session.Seq
		clients []string
		want    session.Seq
	}{
		{[]session.Seq{3, 5}, nil, 9}, {nil, nil, 9}, {nil, []string{"n1", "n2"}, 9}, {[]session.Seq{3, 5}, []string{"n1", "n2"}, 5}, {[]session.Seq{3}, []string{"n1"}, 3},
	} {
		v := New()
		v.List = MakeFindingList(findingQuery{}, []check.Finding{{Rule: &check.Rule{ID: "r"}, Client: "n1", Clients: tc.clients, Seqs: tc.seqs, LastSeq: 9}}, nil, nil)
		if got := v.Selected(scr); got.Seq != tc.want || got.Client != "n1" || got.Rule != "r" {
			t.Errorf("%v of %v: %+v, not %d", tc.seqs, tc.clients, got, tc.want)
		}
	}
}

// A click below the last finding selects nothing.
func TestClickBelow(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New()
	scr.Frame(v, 130, 60)
	n := len(v.List.Rows)
	for y, want := range map[int]int{1: 0, n: n - 1, n + 1: 0, n + 2: 0} {
		v.win.At = 0
		if scr.Run(v.Click(scr, 0, y, false)); v.win.At != want {
			t.Errorf("a click on row %d selects %d of %d", y, v.win.At, n)
		}
	}
}

func TestZZ(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New()
	fmt.Println(scr.Frame(v, 130, 60))
	n := len(v.List.Rows)
	fmt.Println(n, v.listed, v.titled)
}
