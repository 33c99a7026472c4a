package input

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestSelectionArguments(t *testing.T) {
	for arg, want := range map[string]filter.Span{
		"4": {First: 4, Last: 4}, "4..9": {First: 4, Last: 9}, "4..4": {First: 4, Last: 4}, "4..": {First: 4, Last: filter.NoLimit}, "..9": {First: 1, Last: 9},
	} {
		s := &Selection{}
		if err := s.Add(arg); err != nil || s.Spans[0] != want {
			t.Errorf("%q: %v, %v", arg, s.Spans, err)
		}
	}
	for _, arg := range []string{"", "0", "-1", "x", "9..4", "..", "4...9", "1..2..3", "4-9", "99999999999999999999"} {
		if err := (&Selection{}).Add(arg); err == nil {
			t.Errorf("%q was accepted", arg)
		}
	}
}

func TestSelection(t *testing.T) {
	gap := &session.Gap{First: 4, Last: 6, Entries: 3}
	entries := []session.Entry{{Seq: 1}, {Seq: 2}, {Seq: 3}, {Seq: 7, Gap: gap}, {Seq: 8}, {Seq: 9}}
	for _, c := range []struct {
		args, found, read string
		missing           string
	}{
		{args: "2", found: "2", read: "2"},
		{args: "8 2", found: "2 8", read: "8"},
		{args: "2..3", found: "2 3", read: "3"},
		{args: "..2", found: "1 2", read: "2"},
		{args: "8..", found: "8 9", read: "9"},
		{args: "3..8", found: "3 7 8", read: "8"},
		{args: "5", read: "7", missing: `entry 5 is not in "x": entries 4 to 6 were not recorded`},
		{args: "4..6", read: "7", missing: `entries 4 to 6 are not in "x": entries 4 to 6 were not recorded`},
		{args: "900", read: "9", missing: `entry 900 is not in "x": it holds 1 to 9`},
		{args: "900..", read: "9", missing: `entries from 900 on are not in "x": it holds 1 to 9`},
		{args: "1 900", found: "1", read: "9", missing: `entry 900 is not in "x": it holds 1 to 9`},
	} {
		s := &Selection{}
		for _, arg := range strings.Fields(c.args) {
			if err := s.Add(arg); err != nil {
				t.Fatal(err)
			}
		}
		var found []string
		read := ""
		for i := range entries {
			read = number(entries[i].Seq)
			if s.Meet(&entries[i]) {
				found = append(found, read)
			}
			if s.Done() {
				break
			}
		}
		missing := ""
		if err := s.Missing("x"); err != nil {
			missing = err.Error()
		}
		if got := strings.Join(found, " "); got != c.found || read != c.read || missing != c.missing {
			t.Errorf("%s: found %q, read up to %s, missing %q", c.args, got, read, missing)
		}
	}
	if err := func() error { s := &Selection{}; _ = s.Add("1"); return s.Missing("x") }(); err == nil || err.Error() != `entry 1 is not in "x": it holds none` {
		t.Error(err)
	}
}
