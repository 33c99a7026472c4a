package playback

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/replay/shadow"
)

// What a control plane says is shown without what a terminal obeys.
func TestShadowUnprintable(t *testing.T) {
	d := shadow.Difference{Type: xdstest.Nasty, Name: xdstest.Nasty, Client: xdstest.Nasty, Got: xdstest.Nasty, Detail: xdstest.Nasty + "\n" + xdstest.Nastier}
	sum := &shadow.Summary{Fields: []string{xdstest.Nasty}, Differences: []shadow.Difference{d}}
	for _, e := range []shadow.Event{
		{What: shadow.Differs, Text: xdstest.Nasty, Difference: &d},
		{What: shadow.Trouble, Text: xdstest.Nastier},
		{What: shadow.Summarized, Text: sum.String(), Summary: sum},
	} {
		for _, object := range []bool{false, true} {
			line := shadowLine(e, object)
			if at, found := xdstest.Unprintable(line); found || !strings.HasSuffix(line, "\n") || object && strings.Count(line, "\n") != 1 {
				t.Errorf("%s: %s in %q", e.What, at, line)
			}
		}
	}
}
