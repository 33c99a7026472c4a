package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/configdump/compare"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

var (
	sources = []origin.Source{
		{System: "Envoy Gateway", Kind: "Gateway", Namespace: "infra", Name: "eg", Section: "https"},
		{System: "Envoy Gateway", Kind: "HTTPRoute", Namespace: "shop", Name: "cart"},
		{System: "Envoy Gateway", Kind: "HTTPRoute", Namespace: "shop", Name: "pay"},
	}
	colours = []Style{{}, {Color: true}}
)

// What was accepted against what is held, by an Envoy, by CSDS and by istiod: each
// state in its words, and how many.
func TestHeldDiffForms(t *testing.T) {
	changes := diff.Compare(treeOfJSON(t, `{"a":1,"b":[1,2],"c":"x"}`), treeOfJSON(t, `{"a":2,"b":[2,1],"d":{}}`), diff.Options{})
	updated := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var b strings.Builder
	for _, by := range []configdump.Teller{0, configdump.ByCSDS, configdump.ByIstiod} {
		r := &compare.Result{Same: map[string]int{"LDS": 1, "CDS": 2}, Elsewhere: map[string]int{"CDS": 1, "EDS": 3}, NotDumped: []string{"SDS", "RTDS"}}
		for i, s := range []compare.State{compare.NotSent, compare.NotHeld, compare.Removed, compare.Kept, compare.Warming, compare.Differs, compare.Rejected, compare.Partial, compare.Unknown, compare.Awaited} {
			it := compare.Item{Type: "CDS", Name: fmt.Sprint("c", i), State: s}
			switch i % 4 {
			case 0:
				it.Held = &configdump.Resource{State: configdump.Active, Version: "7", Updated: updated}
			case 1:
				it.Accepted, it.Changes = &engine.Held{Seq: 5, Version: "6"}, changes
			case 2:
				it.Why, it.Held = "it is\tso", &configdump.Resource{State: configdump.Static}
			case 3:
				it.Held = &configdump.Resource{State: configdump.Warming, Version: "8"}
			}
			r.Items = append(r.Items, it)
		}
		d := NewHeldDiff(r, &configdump.Dump{By: by, Notes: []string{"a note"}}, "dump.json", "n1")
		for i := range d.Resources {
			if i < 4 {
				d.Resources[i].Sources, d.Resources[i].MoreSources = sources[:i], i == 3
			}
		}
		for _, s := range colours {
			b.WriteString(d.Text(s, 1) + "\n")
		}
		line, _ := JSONLine(d)
		b.Write(line)
		d.Resources = d.Resources[:1]
		b.WriteString(d.Text(Style{}, 1) + "\n")
		d.Resources, d.Types = nil, d.Types[:1]
		b.WriteString(d.Text(Style{}, 1) + "\n")
		d.Types[0].Same = 1
		b.WriteString(d.Text(Style{}, 1) + "\n")
		d.Types = nil
		b.WriteString(d.Text(Style{}, 1) + "\n")
		if !d.Empty() {
			t.Error("something was compared")
		}
	}
	golden.Is(t, "testdata/told/heldiff.txt", b.String())
}

// A text names the first hundred of each kind, and says how many more there are.
func TestHeldDiffNamesSome(t *testing.T) {
	for n, more := range map[int]string{maxHeld: "", maxHeld + 1: "… and 1 more; -o json lists all\n"} {
		d := &HeldDiff{}
		for i := range n {
			d.Resources = append(d.Resources, HeldResource{Type: "CDS", Name: fmt.Sprint(i), Difference: true, State: string(compare.NotHeld)})
		}
		text := d.Text(Style{}, 0)
		if strings.Count(text, "! CDS ") != maxHeld || strings.Contains(text, "…") != (more != "") || !strings.Contains(text, more) {
			t.Errorf("%d: %s", n, text)
		}
		if d.Empty() {
			t.Errorf("%d are nothing", n)
		}
	}
}

func TestSessionsDiffText(t *testing.T) {
	d := &SessionsDiff{A: "a\x1b.xdsp", B: "b.xdsp", Clients: []ClientDiff{
		{Client: "n1", Types: []TypeDiff{
			{Type: "CDS", Same: 1, Differ: 1, OnlyA: 1, OnlyB: 2, Resources: []ResourcePair{
				{Name: "c1", State: PairDiffers, A: &Accepted{5, "1"}, B: &Accepted{7, ""}, Sources: sources, MoreSources: true},
				{Name: "c2", State: PairOnlyA, A: &Accepted{5, "1"}, Sources: sources[:1]},
				{Name: "c3", State: PairOnlyB, B: &Accepted{9, "3\n"}},
			}},
			{Type: "EDS", Differ: 2},
			{Type: "RDS", OnlyA: 1},
			{Type: "SDS", OnlyB: 1},
		}},
		{Client: "n2", Other: "n3"},
		{Client: "n4", Only: "a"},
		{Only: "b", Types: []TypeDiff{{Type: "LDS", Same: 1000}}},
	}}
	golden.Is(t, "testdata/told/sessionsdiff.txt", d.Text(Style{})+d.Text(Style{Color: true}))
}

// What differs between two versions of a resource: in a line, and for machines.
func TestChanges(t *testing.T) {
	const long = "a-value-of-25-columns-here"
	for _, tc := range []struct{ a, b, words, machines string }{
		{`{"a":1}`, `{"a":1}`, "", `[]`},
		{`{"a":1,"b":"x"}`, `{"a":2,"c":true}`, "a 1 > 2, b removed +1 more", `[{"kind":"changed","path":"a","old":1,"new":2},{"kind":"removed","path":"b","old":"x"},{"kind":"added","path":"c","new":true}]`},
		{`{}`, `{"a":"` + long[:24] + `"}`, "a " + long[:24] + " added", `[{"kind":"added","path":"a","new":"` + long[:24] + `"}]`},
		{`{}`, `{"a":"` + long[:25] + `"}`, "a added", `[{"kind":"added","path":"a","new":"` + long[:25] + `"}]`},
		{`{"a":"x y"}`, `{"a":"z"}`, "a changed", `[{"kind":"changed","path":"a","old":"x y","new":"z"}]`},
		{`{"a":"z"}`, `{"a":""}`, "a changed", `[{"kind":"changed","path":"a","old":"z","new":""}]`},
		{`{"a":{}}`, `{"a":[]}`, "a changed", `[{"kind":"changed","path":"a","old":{},"new":[]}]`},
		{`1`, `2`, "all of it 1 > 2", `[{"kind":"changed","path":"","old":1,"new":2}]`},
		{`{"a":[{"name":"x"},{"name":"y"}]}`, `{"a":[{"name":"y"},{"name":"x"}]}`, "a[name=y] moved", `[{"kind":"moved","path":"a[name=y]","old_index":1,"new_index":0}]`},
	} {
		r := diff.Compare(treeOfJSON(t, tc.a), treeOfJSON(t, tc.b), diff.Options{})
		if got := ChangeWords(r, 2); got != tc.words {
			t.Errorf("%s to %s: %q, want %q", tc.a, tc.b, got, tc.words)
		}
		step := NewStep(3, 4, r)
		got, _ := JSONLine(step.Changes)
		if strings.TrimSpace(string(got)) != tc.machines || step.From != 3 || step.To != 4 || step.Same != (tc.a == tc.b) {
			t.Errorf("%s to %s: %+v\n%s", tc.a, tc.b, step, got)
		}
	}
}

// How far a client got with a resource, in a word, a sentence and for machines.
func TestEffects(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seq session.Seq, d time.Duration) effect.Moment { return effect.Moment{Seq: seq, At: now.Add(d)} }
	var b strings.Builder
	for _, e := range []effect.Effect{
		{State: effect.Unknown},
		{State: effect.InEffect},
		{State: effect.InEffect, Accepted: at(3, 0), Effective: at(4, 12*time.Millisecond)},
		{State: effect.InEffect, Accepted: at(3, 0), Removed: true},
		{State: effect.Warming, Waits: []string{"EDS a", "SDS b"}, Accepted: at(3, -time.Minute)},
		{State: effect.Draining},
		{State: effect.Other},
		{State: effect.Other, Removed: true},
		{State: effect.Absent, Why: "it went"},
		{State: effect.Failed, Why: "bad", Waits: []string{"x"}},
	} {
		e.Type, e.Name = "CDS", "c1"
		line, _ := JSONLine(newEffective(&e))
		fmt.Fprintf(&b, "%s | %s\n%s", EffectWord(&e), EffectText(&e, now), line)
	}
	for _, s := range []effect.Standing{
		{},
		{Expected: true, Counts: map[string]effect.Count{"CDS": {InEffect: 1, Known: 1, All: 1}}},
		{Expected: true, Counts: map[string]effect.Count{"CDS": {Known: 1, All: 1}}, Behind: []effect.Effect{{Type: "CDS", Name: "c1", State: effect.Warming}}},
	} {
		fmt.Fprintf(&b, "%s\n", EffectOf(&s))
	}
	golden.Is(t, "testdata/told/effects.txt", b.String())
}

// Of a cause the first is told at once, and what others have of it once a second.
func TestOthers(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	rule := check.Rules()[0]
	of := func(cause int, client string) *check.Finding {
		return &check.Finding{Rule: rule, Cause: cause, Client: client, Message: "it is so", Count: 1}
	}
	var o Others
	sums := func(all []check.Finding) (out string) {
		for i := range all {
			out += fmt.Sprintf("%d: %s; ", all[i].Cause, strings.TrimSpace(strings.TrimPrefix(NewTable(0, Style{}).SumLine(&all[i]), "i")))
		}
		return strings.ReplaceAll(out, rule.ID+": ", "")
	}
	due := func(ms int, want string) {
		t.Helper()
		if got := sums(o.Due(at(ms))); got != want {
			t.Errorf("at %d: %q, want %q", ms, got, want)
		}
	}
	keep := func(ms, cause int, client string, want bool) {
		t.Helper()
		if got := o.Keep(of(cause, client), at(ms)); got != want {
			t.Errorf("at %d: %d of %s: %t", ms, cause, client, got)
		}
	}
	keep(0, 0, "a", false)
	keep(0, 0, "b", false)
	keep(0, 1, "a", false)
	keep(10, 1, "b", true)
	keep(20, 1, "c", true)
	keep(500, 2, "a", false)
	keep(600, 2, "b", true)
	due(999, "")
	due(1000, "1: the same on 2 more clients, b, c: it is so; ")
	due(1499, "")
	keep(1499, 1, "d", true)
	due(1500, "2: the same on 1 more client, b: it is so; ")
	due(1999, "")
	due(2000, "1: the same on 1 more client, d: it is so; ")
	due(9000, "")
	keep(9000, 1, "e", true)
	if got := sums(o.Rest()); got != "1: the same on 1 more client, e: it is so; " {
		t.Errorf("at the end: %q", got)
	}
	if got := o.Rest(); len(got) != 0 {
		t.Errorf("told twice: %v", got)
	}
	// What is remembered is bounded: then it is told from the beginning.
	for i := range maxToldCauses {
		o.Keep(of(10+i, "a"), at(9000))
	}
	keep(9000, 1, "f", false)
}

// Who asks about a resource sees what concerns it, and how much was left out.
func TestBrief(t *testing.T) {
	var names, few []string
	for i := range briefNames + 1 {
		names = append(names, fmt.Sprint("e", i))
	}
	few = names[:briefNames]
	s, err := script.Parse("brief.xds", fmt.Appendf(nil, `C> type=CDS V= N= R=[] node=n1/edge ua=envoy/1.40.0
S< type=CDS V=1 N=a res=[c1,c2,c3]
C> type=EDS V= N= R=[%s]
C> type=EDS V= N= R=[%s]
`, strings.Join(names, ","), strings.Join(few, ",")))
	if err != nil {
		t.Fatal(err)
	}
	k, d := check.NewTracker(nil), NewDocuments()
	var out strings.Builder
	for e := range s.Entries() {
		d.See(&e)
		c := k.Step(&e)
		if e.Kind != session.KindMessage {
			continue
		}
		for _, asked := range [][]string{{"c2"}, {"c1", "c3"}, {"c1", "c2", "c3"}, {"none"}} {
			doc, err := d.Document(&e, &c)
			if err != nil {
				t.Fatal(err)
			}
			doc.Brief(&c, asked)
			text := string(doc.YAML())
			if c.Type != "CDS" || c.Message.Request() && asked[0] != "c2" {
				continue
			}
			fmt.Fprintf(&out, "== %v\n%s", asked, text[strings.Index(text, "\nmessage:"):])
		}
		if c.Type == "EDS" {
			doc, _ := d.Document(&e, &c)
			doc.Brief(&c, nil)
			fmt.Fprintf(&out, "== %d names: %d left out\n", len(c.Message.Names), strings.Count(string(doc.YAML()), "(1 more left out)"))
		}
		if got := d.Body(&e, &c); !strings.Contains(got, c.Message.TypeURL) {
			t.Errorf("%d: %s", e.Seq, got)
		}
	}
	golden.Is(t, "testdata/told/brief.txt", out.String())
	node := treeOfJSON(t, `{"id":"n","extensions":[{},{}],"metadata":{"a":"`+strings.Repeat("x", briefNode)+`","b":1}}`)
	briefNodeOf(node)
	if x, _ := node.Get("extensions"); x.Text != "(2 extensions left out)" {
		t.Errorf("%+v", x)
	}
	if m, _ := node.Get("metadata"); m.Text != "(2 members left out)" {
		t.Errorf("%+v", m)
	}
	node = treeOfJSON(t, `{"metadata":{"a":1}}`)
	briefNodeOf(node)
	if m, _ := node.Get("metadata"); len(m.Members) != 1 {
		t.Errorf("%+v", m)
	}
}

// A finding of many clients, proxies and lines, in all its words.
func TestFindingForms(t *testing.T) {
	some := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("n", i))
		}
		return out
	}
	r := NewReport()
	r.Findings = []Finding{
		{Rule: "a-rule", Severity: "error", Fault: "client", Conn: 3, Type: "CDS", Seqs: []uint64{4}, At: "2026-03-01T12:00:00.123456789Z", Count: 1, Message: "it is so"},
		{Rule: "b-rule", Severity: "warning", Fault: string(check.ConfigFault), Client: "n1", Seqs: []uint64{1, 2, 3, 4, 5, 6}, At: "2026-03-01T12:00:00.123000000Z", LastAt: "2026-03-01T12:00:00.123900000Z", LastSeq: 6, Count: 2, Message: "it\tis so", Sources: sources, MoreSources: true},
		{Rule: "c-rule", Severity: "info", Fault: "server", Client: "n1", Clients: some(9), Seqs: []uint64{1, 2, 3, 4, 5, 6, 7}, At: "2026-03-01T12:00:00Z", LastAt: "2026-03-01T12:00:01Z", LastSeq: 9, Count: 9, Message: "it is so", Proxies: some(2)},
		{Rule: "d-rule", Severity: "info", Fault: "server", Client: "n1", Clients: some(2), MoreClients: true, Count: 10, LastSeq: 9, Proxies: some(2), MoreProxies: true, Source: "a.xds", Lines: []int{3, 4}, LastLine: 7, Seqs: []uint64{5}, At: "x"},
		{Rule: "e-rule", Severity: "info", Seqs: []uint64{5}, Lines: []int{3}, LastLine: 3, Count: 1},
	}
	var b strings.Builder
	for _, m := range []Summary{
		{Messages: 1, Streams: 1}, {Warning: 1, Messages: 2, Streams: 2, Gaps: 1, Recordings: 1}, {Error: 1, Warning: 2, Info: 2, PastForgotten: 1}, {Info: 1, Gaps: 2, PastForgotten: 1000, Recordings: 2},
	} {
		r.Summary = m
		for _, s := range colours {
			b.WriteString(r.Text(s, 0, true) + r.Text(s, 60, false))
			b.WriteString(r.Conclusion(s, len("0 errors, 0 warnings, 1 note in 0 messages on 0 streams of 2 recordings, with 2 gaps; --info shows the notes"), false))
		}
	}
	for _, m := range []Summary{{FindingsForgotten: 1}, {FindingsRefused: 1000}, {PastForgotten: 1, FindingsForgotten: 1000, FindingsRefused: 1}} {
		r.Summary = m
		b.WriteString(r.Conclusion(Style{}, 0, true) + r.Conclusion(Style{}, 60, true))
	}
	fmt.Fprintln(&b, r.Foremost(false), (&Report{Findings: r.Findings[2:]}).Foremost(true), (&Report{Findings: r.Findings[2:]}).Foremost(false))
	fmt.Fprintln(&b, SomeOf(some(3), 3), SomeOf(some(3), 2), ClientCount(1, false), ClientCount(1000, true))
	golden.Is(t, "testdata/told/findings.txt", b.String())

	list := []Finding{{Seqs: []uint64{1, 2, 3}, LastSeq: 4}, {Seqs: []uint64{9}}}
	AddLines(list, func(s session.Seq) int { return map[session.Seq]int{1: 10, 2: 10, 4: 12}[s] })
	if !slices.Equal(list[0].Lines, []int{10}) || list[0].LastLine != 12 || list[1].Lines != nil || list[1].LastLine != 0 {
		t.Errorf("%+v", list)
	}
}

// The clients that say what they hold are bounded, in number and in bytes.
func TestHoldersAreBounded(t *testing.T) {
	var h Holders
	c := &check.Change{}
	e := heldEntry(t, true, said(t, "CDS", "a", active, nil))
	for i := range maxHolders + 1 {
		e.Held.Node = fmt.Sprintf("n%05d", i)
		h.See(e, c)
		if h.more != (i == maxHolders) {
			t.Fatalf("after %d clients, there are more: %v", i+1, h.more)
		}
	}
	all := NewStanding(nil, 0, time.Time{})
	all.AddHolders(&h, nil)
	if text := all.Text(Style{}, 0); !all.HoldingMore || !strings.HasSuffix(text, "\nmore than 10,000 clients of one recording asked for nothing and said what they hold: the others are left out\n") {
		t.Errorf("it is not told that there are more: ...%q", text[len(text)-100:])
	}
	size := e.Message.Data.Len()
	if len(h.by) != maxHolders || h.bytes != maxHolders*int(size) {
		t.Fatalf("%d clients, %d bytes", len(h.by), h.bytes)
	}
	e.Held.Node = "n00000"
	h.See(e, c) // the whole anew
	if h.bytes != maxHolders*int(size) {
		t.Errorf("%d bytes", h.bytes)
	}
	h.bytes = maxHolderBytes - int(size)
	e.Held.Whole = false
	if h.See(e, c); h.by["n00000"].cut || h.bytes != maxHolderBytes {
		t.Error("what fits is left out")
	}
	if h.See(e, c); !h.by["n00000"].cut || h.bytes != maxHolderBytes {
		t.Error("more than fits is kept")
	}
	asked := &check.Change{Change: engine.Change{Client: "n00000", Sub: &engine.Subscription{}}}
	h.See(&session.Entry{Kind: session.KindMessage}, asked)
	if h.by["n00000"] != nil || h.bytes != maxHolderBytes-2*int(size) {
		t.Errorf("who asks is kept, %d bytes", h.bytes)
	}
	if h.See(e, c); h.by["n00000"] != nil || h.Tree("n00000", 1) != nil {
		t.Error("who asked is known again")
	}
	for i := range maxHolders { // so many that they are not all remembered
		h.asked[fmt.Sprint(i)] = true
	}
	asked.Client = "n00001"
	if h.See(&session.Entry{Kind: session.KindMessage}, asked); h.by["n00001"] != nil {
		t.Error("who asks after many others is kept")
	}
}

// Short words of columns and times, at their bounds.
func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0s", 0: "0.0s", 9940 * time.Millisecond: "9.9s", 10 * time.Second: "10s", time.Minute - 1: "59s", time.Minute: "1m", time.Hour - 1: "59m", time.Hour: "1h",
		48*time.Hour - 1: "47h", 48 * time.Hour: "2d", 72 * time.Hour: "3d",
	} {
		if got := Age(d); got != want {
			t.Errorf("age %v: %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "00:00:00", 59*time.Second + 999*time.Millisecond: "00:00:59", 60 * time.Second: "00:01:00", 3661 * time.Second: "01:01:01", 100 * time.Hour: "100:00:00"} {
		if got := Clock(d); got != want {
			t.Errorf("clock %v: %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		999: "999ns", time.Microsecond: "1µs", time.Millisecond - 1: "999µs", time.Millisecond: "1ms", time.Second - 1: "999ms", time.Second: "1s", 9900 * time.Millisecond: "9.9s",
		10 * time.Second: "10s", time.Minute - 1: "59s", time.Minute: "1m", time.Hour - 1: "59m 59s", time.Hour: "1h", 24*time.Hour - 1: "23h 59m", 24 * time.Hour: "1d", 25 * time.Hour: "1d 1h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
	at := time.Date(2026, 3, 1, 12, 34, 56, 789123456, time.FixedZone("", 3600))
	if got := []string{ShortTime(at), TimeOfDay(at), LongTime(at), OrDash(""), OrDash("x"), SeveritySign(check.Error), SeveritySign(check.Warning), SeveritySign(check.Info)}; !slices.Equal(got, []string{"11:34:56", "11:34:56.789", "11:34:56.789123", "-", "x", "!", "~", "i"}) {
		t.Errorf("%q", got)
	}
	for k, want := range map[session.Kind]string{session.KindUnknown: "…", session.KindHalfClose: "HALF", session.KindCancel: "CLOSE", session.KindNote: "note"} {
		if got := EventWord(k, xds.VariantSotw); got != want {
			t.Errorf("%v: %q, want %q", k, got, want)
		}
	}
	for n, want := range map[int64]string{1<<63 - 1: "9.2E", 999_400_000_000_000_000: "999P", 999_500_000_000_000_000: "1E"} {
		if got := ShortSize(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if GRPCCode(16) != "UNAUTHENTICATED" || GRPCCode(17) != "17" || GRPCCode(-1) != "-1" || GRPCCode(0) != "OK" || HTTP2Code(13) != "HTTP_1_1_REQUIRED" || HTTP2Code(14) != "0xe" {
		t.Error(GRPCCode(16), GRPCCode(17), HTTP2Code(13), HTTP2Code(14))
	}
	s := Style{Color: true}
	if got := s.Title("a") + s.Muted("b") + s.Good("c") + s.Bad("d") + s.Warned("e") + s.Accent("f") + s.Good(""); got != "\x1b[1ma\x1b[0m\x1b[2mb\x1b[0m\x1b[32mc\x1b[0m\x1b[1;31md\x1b[0m\x1b[33me\x1b[0m\x1b[36mf\x1b[0m" {
		t.Errorf("%q", got)
	}
}
