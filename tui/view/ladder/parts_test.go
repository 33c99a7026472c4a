package ladder

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// A finding stands where it was proved first, which is the last of the entries that it
// takes; one that takes none, where it was proved last.
func TestWhereFindingsStand(t *testing.T) {
	scr := viewtest.Told(t, "../../..", "aggregated")
	r, _ := scr.Log().Index.BySeq(5)
	rule := &check.Rule{ID: "a-rule"}
	for _, tc := range []struct {
		f    check.Finding
		want session.Seq
	}{
		{check.Finding{Rule: rule, Seqs: []session.Seq{4, 6}, LastSeq: 9}, 6},
		{check.Finding{Rule: rule, Seqs: []session.Seq{7}, LastSeq: 9}, 7},
		{check.Finding{Rule: rule, LastSeq: 9}, 9},
	} {
		drawn := drawLadder(scr.Log(), r.Seq, "", r.Seq, []check.Finding{tc.f})
		var got []session.Seq
		for _, l := range drawn.drawn.Lines(render.LadderForm{Columns: 80, ASCII: true, Replace: func(s string) string { return s }}) {
			if l.Kind == render.LadderFinding {
				got = append(got, l.Seq)
			}
		}
		if len(got) == 0 || got[0] != tc.want {
			t.Errorf("%v, %d: it stands at %d, not at %d", tc.f.Seqs, tc.f.LastSeq, got, tc.want)
		}
	}
}

// Who takes part is told from the connection, also where that began before what is drawn.
func TestWhoTakesPart(t *testing.T) {
	es := viewtest.StreamBegins()
	for range 2 * stepsBefore {
		es = append(es, viewtest.MessageEntry(session.Client, viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster")))
	}
	scr := viewtest.New(t, viewtest.Record(t, es...)).Read(t)
	_, last := scr.Log().Index.Extent()
	drawn := drawLadder(scr.Log(), last, "", last, nil)
	lines := drawn.drawn.Lines(render.LadderForm{Columns: 100, ASCII: true, Replace: func(s string) string { return s }})
	if head := lines[0].Text; !drawn.earlier || !strings.Contains(head, "192.0.2.2:2") {
		t.Errorf("more before: %t, %q", drawn.earlier, head)
	}
}
