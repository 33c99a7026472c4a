package playback

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/bisect"
	"github.com/xdsproxy/xdsproxy/replay/launch"
	"github.com/xdsproxy/xdsproxy/replay/shadow"
)

// What a person reads of each kind of result.
func TestTexts(t *testing.T) {
	var b strings.Builder
	tell := func(name, text string) { fmt.Fprintf(&b, "== %s\n%s", name, text) }

	rejected := bisect.Rejected{Client: "router-0123456789abcdef0123456789abcdef01234567-89abcdef-prod-eu-west-1", Type: "CDS", Response: 12, NACK: 14}
	bad := bisect.CulpritResource{Name: "outbound|443||payments.prod.svc.cluster.local", Type: "CDS", Version: strings.Repeat("v", 24)}
	long := bisect.CulpritResource{Name: "b", Type: "CDS", Version: strings.Repeat("v", 25)}
	for _, found := range []struct {
		name  string
		r     bisect.Result
		files foundFiles
	}{
		{"one", bisect.Result{Resources: 1, Trials: 1, Rest: true, Culprits: []bisect.Culprit{{Resources: []bisect.CulpritResource{bad}, Words: "no such\ncipher", Bare: true}}}, foundFiles{"bug-12.xds", "bug-12.xdsp"}},
		{"beside", bisect.Result{Resources: 9, Trials: 7, Rest: true, Culprits: []bisect.Culprit{{Resources: []bisect.CulpritResource{{Name: "a", Type: "CDS"}}}}}, foundFiles{}},
		{"together", bisect.Result{Resources: 9, Trials: 7, Rest: true, Culprits: []bisect.Culprit{{Resources: []bisect.CulpritResource{bad, long}, Bare: true}}}, foundFiles{}},
		{"unfinished", bisect.Result{Resources: 9, Culprits: []bisect.Culprit{{Resources: []bisect.CulpritResource{bad}}}, Notes: []string{"a note"}}, foundFiles{}},
		{"two", bisect.Result{Resources: 9, Rest: true, Culprits: []bisect.Culprit{{Resources: []bisect.CulpritResource{bad}}, {Resources: []bisect.CulpritResource{long}}}}, foundFiles{}},
		{"accepted", bisect.Result{Resources: 9, Accepted: true}, foundFiles{}},
		{"accepted by another", bisect.Result{Resources: 9, Accepted: true, By: "another"}, foundFiles{}},
		{"fickle", bisect.Result{Resources: 9, Fickle: []string{"a", "b"}}, foundFiles{}},
		{"removals", bisect.Result{Resources: 9, Removals: true, Removed: []string{"a", "b"}}, foundFiles{}},
	} {
		found.r.Rejected = rejected
		tell("bisect: "+found.name, bisectText(&found.r, found.files))
	}
	tell("bisect: by nobody", bisectText(&bisect.Result{Accepted: true}, foundFiles{}))

	at := time.Date(2026, 11, 26, 12, 0, 0, 250e6, time.UTC)
	d := shadow.Difference{Type: "CDS", Name: "a", Client: "n1", Streams: 2, Seq: 7, Got: "B does not give it", Detail: "one\ntwo", Since: at, Stands: true}
	gone := shadow.Difference{Type: "EDS", Streams: 1, Got: "B gives none of the 9 EDS resources", Since: at}
	sum := &shadow.Summary{Streams: 1, Differences: []shadow.Difference{d, d, gone, d, d, d, d, d}, Undecided: []string{`CDS "x": not decided, since B was away`}}
	for _, e := range []shadow.Event{
		{Time: at, What: shadow.Began, Text: "following"},
		{Time: at, What: shadow.Differs, Text: "it differs", Difference: &d},
		{Time: at, What: shadow.Settled, Text: "it is settled", Difference: &d},
		{Time: at, What: shadow.Trouble, Text: "it hangs"},
		{Time: at, What: shadow.Behind, Text: "it is slow"},
		{Time: at, What: shadow.Summarized, Text: sum.String(), Summary: sum},
	} {
		tell("event "+e.What, shadowLine(e, false)+shadowLine(e, true))
	}

	changed := replay.Difference{Seq: 9, Expected: `CDS "a" as in entry 9`, Got: replay.AnotherContent, Detail: "connect_timeout: \"7s\" instead of \"1s\"", Type: "CDS", Stream: 3}
	same := changed
	same.Expected = `CDS "b" as in entry 9`
	report := &replay.Report{
		Streams: 2, Expected: 1234, Matched: 1233, Sent: 1, Received: 2, Notes: []string{"a note"}, More: 1,
		Differences: []replay.Difference{changed, {Seq: 4, Answers: 3, Expected: "ACK", Got: "NACK", Detail: "no"}, same},
		Played: []replay.Played{
			{Stream: 1, Client: "n1", Variant: "sotw-ads", Begun: true, Sent: 3, ToSend: 3, Matched: 4, Expected: 4},
			{Stream: 2, Variant: "sotw", Type: "CDS", Begun: true, By: "n2", Sent: 2, ToSend: 3, Matched: 4, Expected: 4},
			{Stream: 3, Client: "n1", Variant: "sotw", Type: "EDS", Begun: true, Matched: 3, Expected: 4},
			{Stream: 4, Client: "n1", Variant: "sotw", Type: "LDS", Expected: 4},
		},
	}
	tell("report", replayText(report))
	tell("report of nothing", replayText(&replay.Report{Streams: 1}))
	tell("report of nobody", replayText(&replay.Report{Expected: 1}))
	tell("report without a difference", replayText(&replay.Report{Streams: 1, Expected: 1}))
	many := &replay.Report{More: 3}
	for i := range shownDifferences + 2 {
		many.Differences = append(many.Differences, replay.Difference{Seq: 1, Expected: fmt.Sprint(i), Got: "none"})
	}
	text := replayText(many)
	tell("many differences, the last of them", text[strings.Index(text, "expected 98"):])

	m := &launch.Matrix{Commands: []string{"/usr/bin/envoy -c a", "sh b"}}
	m.Enter("a.xdsp", m.Commands[0], "n1", &replay.Report{}, nil)
	m.Enter("a.xdsp", m.Commands[1], "n1", report, nil)
	m.Enter("b.xdsp", m.Commands[0], "n1", nil, errors.New("it ended\nno"))
	m.Enter("b.xdsp", m.Commands[1], "n1", &replay.Report{Notes: []string{"as recorded: not shown"}}, nil)
	tell("matrix", matrixText(m))
	tell("programs", fmt.Sprintf("%q %q\n", programNames([]string{"/a/envoy -c x", "/b/envoy -c y"}), programNames([]string{"/a/envoy -c x", "grpcurl"})))
	tell("scripts", fmt.Sprintln(scriptName("dir/bug.xdsp", 412, 1), scriptName("bug.xdsp", 412, 2), besideScript("a/bug-412.xds")))
	golden.Is(t, "testdata/texts.txt", b.String())
}

// Of differences that are alike a person is shown a few, and then that there are more.
func TestFewLines(t *testing.T) {
	lines := shadowLines{}
	for i := range 8 {
		d := &shadow.Difference{Type: "CDS", Got: "B does not give it"}
		e := shadow.Event{What: shadow.Differs, Text: "it differs", Difference: d}
		shown := lines.few(&e)
		wantText := "it differs"
		if i == 5 {
			wantText = "more of CDS like these: the sum has how many"
		}
		if shown != (i <= 5) || i <= 5 && e.Text != wantText {
			t.Errorf("the difference %d: shown %v, %q", i, shown, e.Text)
		}
	}
	for _, e := range []shadow.Event{{What: shadow.Noted}, {What: shadow.Differs, Difference: &shadow.Difference{Type: "EDS", Got: "B does not give it"}}} {
		if !lines.few(&e) {
			t.Errorf("%+v is not shown", e)
		}
	}
}
