package report

import (
	"fmt"
	"strings"
	"testing"
)

// told says how many of a kind are told, in the line of the kind and below the list.
func told(s *Survey, kind string, most int) (count, more string) {
	_, text, _ := strings.Cut(s.Text(most), "\nreadable "+kind+": ")
	count, text, _ = strings.Cut(text, "\n")
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "  and ") {
			return count, strings.TrimSpace(l)
		}
		if !strings.HasPrefix(l, "  ") {
			break // of the next kind
		}
	}
	return count, ""
}

// Names are counted once, however many there are and however often they come.
func TestNamesAreCountedOnce(t *testing.T) {
	const n = maxNames + 5000
	s := NewSurvey()
	for range 3 {
		for i := range n {
			s.add("resources", fmt.Sprint("cluster-", i))
			s.add("other names", fmt.Sprint("cluster-", i)) // which is no other name
		}
		s.add("other names", "another")
	}
	for _, c := range []struct{ kind, count, more string }{
		{"resources", "25,000", "and 24,990 more"}, {"other names", "1", "and 1 more"}, {"clients", "none", ""},
	} {
		if count, more := told(s, c.kind, 10); count != c.count || more != c.more {
			t.Errorf("%s: %q, %q, want %q, %q", c.kind, count, more, c.count, c.more)
		}
	}
	if _, more := told(s, "resources", 0); more != "and 5,000 more" {
		t.Errorf("below the list of all: %q", more)
	}
}

// So many names are counted of those that are not kept. That there are more is said.
func TestNamesAreCountedUpToABound(t *testing.T) {
	s := NewSurvey()
	for i := range maxNames {
		s.add("resources", fmt.Sprint("cluster-", i))
		s.add("hosts", fmt.Sprint("host-", i))
	}
	s.counted = maxCounted - 1
	for _, c := range []struct{ name, count, more string }{
		{"last", "20,001", "and 19,991 more"}, {"last", "20,001", "and 19,991 more"}, {"one more", "more than 20,001", "and more than 19,991 more"},
	} {
		s.add("resources", c.name)
		if count, more := told(s, "resources", 10); count != c.count || more != c.more || s.counted != maxCounted {
			t.Errorf("%s: %q, %q, want %q, %q; %d are counted", c.name, count, more, c.count, c.more, s.counted)
		}
	}
	s.add("hosts", "one more")
	s.add("clients", "kept")
	for kind, want := range map[string][2]string{"hosts": {"more than 20,000", "and more"}, "clients": {"1", ""}} {
		if count, more := told(s, kind, 0); count != want[0] || more != want[1] {
			t.Errorf("%s: %q, %q, want %q", kind, count, more, want)
		}
	}
}
