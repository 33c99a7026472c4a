package view_test

import (
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// Of findings that were proved by one entry the gravest counts, and of equals the first.
func TestFindingsOfOneEntry(t *testing.T) {
	of := func(s check.Severity, cause int, last session.Seq) check.Finding {
		return check.Finding{Rule: check.Rules()[0], Severity: s, Cause: cause, LastSeq: last}
	}
	for _, tc := range []struct {
		found                         []check.Finding
		after, around, gravest, entry int
	}{
		{[]check.Finding{of(check.Warning, 1, 9), of(check.Warning, 2, 9)}, 1, 1, 1, 1},
		{[]check.Finding{of(check.Error, 1, 9), of(check.Warning, 2, 9)}, 1, 1, 1, 1},
		{[]check.Finding{of(check.Warning, 1, 9), of(check.Error, 2, 9)}, 2, 1, 2, 2},
		{[]check.Finding{of(check.Warning, 1, 9), of(check.Error, 2, 9), of(check.Error, 3, 9)}, 2, 1, 2, 2},
		{[]check.Finding{of(check.Error, 1, 12), of(check.Error, 2, 9), of(check.Warning, 3, 9)}, 2, 2, 2, 2},
	} {
		s := &view.Seen{Findings: tc.found}
		after, _ := s.After(8, nil)
		around, wrapped := s.After(20, nil)
		got := fmt.Sprint(after.Cause, around.Cause, s.Gravest(nil).Cause, s.Finding(9).Cause)
		if want := fmt.Sprint(tc.after, tc.around, tc.gravest, tc.entry); got != want || !wrapped {
			t.Errorf("%+v: %s, not %s", tc.found, got, want)
		}
	}
}

// While names are hidden, a source is called by the last part of its path.
func TestSourceName(t *testing.T) {
	s := viewtest.Session(t, "../..", "demo")
	s.Aliases().On = true
	for name, want := range map[string]string{"/home/me/x.xdsp": "x.xdsp", "x.xdsp": "x.xdsp", "me/": ""} {
		s.Log().Name = name
		if got := view.SourceName(s); got != want {
			t.Errorf("%s is called %q", name, got)
		}
	}
}
