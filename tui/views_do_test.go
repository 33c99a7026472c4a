package tui

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// state is what a test asks of the screen after some keys.
type state struct {
	tab   int
	over  string // the title of what was opened above, "" if nothing
	query string // of the view on top
	seq   session.Seq
	said  string // part of what the message line says
	frame string // part of the screen
	not   string // that must not be on the screen
}

func (d *driver) check(name string, want state) {
	d.tb.Helper()
	m := d.m
	if m.tab != want.tab {
		d.tb.Errorf("%s: tab %d, want %d", name, m.tab, want.tab)
	}
	over := ""
	if n := len(m.over); n > 0 {
		over = m.over[n-1].Title()
	}
	if over != want.over {
		d.tb.Errorf("%s: %q is open, want %q", name, over, want.over)
	}
	if f, is := m.top().(view.Filterable); is && f.Query() != want.query {
		d.tb.Errorf("%s: the filter is %q, want %q", name, f.Query(), want.query)
	}
	if want.seq != 0 {
		if s, is := m.top().(view.Subject); !is || s.Selected(m).Seq != want.seq {
			d.tb.Errorf("%s: %d is not what is selected", name, want.seq)
		}
	}
	said := ""
	if n := len(m.events.all); n > 0 {
		said = m.events.all[n-1].text
	}
	if !strings.Contains(said, want.said) || want.said == "-" && said != "" {
		d.tb.Errorf("%s: it said %q, want %q", name, said, want.said)
	}
	frame := d.frame()
	if !strings.Contains(frame, want.frame) {
		d.tb.Errorf("%s: %q is not on the screen\n%s", name, want.frame, frame)
	}
	if want.not != "" && strings.Contains(frame, want.not) {
		d.tb.Errorf("%s: %q is on the screen\n%s", name, want.not, frame)
	}
}

func keysTyped(text string) []string {
	var out []string
	for _, r := range text {
		out = append(out, string(r))
	}
	return append(out, "enter")
}

// What keys do in Violations, Resources, Stats and a rule's page.
func TestViewKeys(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		keys    []string
		want    state
	}{
		"violations: the worst is first":     {"server-resends-what-was-rejected", []string{"4"}, state{tab: 3, frame: "> ! nack-immediate-resend"}},
		"violations: enter shows messages":   {"demo", []string{"4", "enter"}, state{tab: 1, seq: 53, query: "seq:46,48,53 client:demo-envoy type:CDS", frame: "3 of 3"}},
		"violations: u takes that back":      {"demo", []string{"4", "enter", "u"}, state{tab: 1, frame: "filter: none"}},
		"violations: words":                  {"demo", append([]string{"4", "/"}, keysTyped("pgv")...), state{tab: 3, query: "pgv", frame: "1 of 1"}},
		"violations: words that nothing has": {"demo", append([]string{"4", "/"}, keysTyped("nonsense")...), state{tab: 3, query: "nonsense", frame: "No finding has these words."}},
		"violations: esc takes words away":   {"demo", append(append([]string{"4", "/"}, keysTyped("pgv")...), "esc"), state{tab: 3, frame: "1 of 5"}},
		"violations: only this rule":         {"demo", []string{"4", "+", "enter"}, state{tab: 3, query: "nack-received", frame: "1 of 1"}},
		"violations: not this rule":          {"demo", []string{"4", "-", "enter"}, state{tab: 3, query: "-nack-received", frame: "1 of 4"}},
		"violations: the filter before":      {"demo", []string{"4", "-", "enter", "u"}, state{tab: 3, frame: "1 of 5"}},
		"violations: nothing to bring back":  {"demo", []string{"4", "u"}, state{tab: 3, said: "there was no filter before"}},
		"violations: sorted by rule":         {"demo", []string{"4", "s", "s", "g"}, state{tab: 3, said: "sorted: rule", frame: "> ~ nack-immediate-resend"}},
		"violations: the next one":           {"demo", []string{"4", "!"}, state{tab: 3, frame: "> ~ nack-immediate-resend"}},
		"violations: round":                  {"demo", []string{"4", "G", "!"}, state{tab: 3, said: "this is the first", frame: "> ~ nack-received"}},
		"violations: silence":                {"demo", append([]string{"4", ":"}, keysTyped("silence")...), state{tab: 3, said: "on this screen alone", frame: "nack-received known"}},
		"violations: silence again":          {"demo", append(append([]string{"4", ":"}, keysTyped("silence")...), append([]string{"G", ":"}, keysTyped("silence")...)...), state{tab: 3, said: "known already"}},
		"violations: none":                   {"envoy-sotw", []string{"4"}, state{tab: 3, frame: "No rule has found anything."}},
		"violations: none to open":           {"envoy-sotw", []string{"4", "enter"}, state{tab: 3, said: "no rule has found anything here"}},
		"violations: explain the selected":   {"demo", append([]string{"4", ":"}, keysTyped("explain")...), state{tab: 3, over: "Rule", frame: "Usual causes"}},
		"silence elsewhere":                  {"demo", append([]string{"2", ":"}, keysTyped("silence")...), state{tab: 1, said: "silence is for a finding"}},
		"explain: a name":                    {"demo", append([]string{"2", ":"}, keysTyped("explain nack-received")...), state{tab: 1, over: "Rule", frame: "nack-received: the client rejected a response"}},
		"explain: no such rule":              {"demo", append([]string{"2", ":"}, keysTyped("explain nack-recieved")...), state{tab: 1, said: `did you mean "nack-received"?`}},
		"rule: its findings":                 {"demo", append(append([]string{"2", ":"}, keysTyped("explain pgv-constraint")...), "+"), state{tab: 3, query: "pgv-constraint", frame: "1 of 1"}},

		"!: to the first from above": {"envoy-sotw-nack", []string{"g", "!"}, state{tab: 1, seq: 17, said: "nack-received"}},
		"!: round":                   {"envoy-sotw-nack", []string{"G", "!"}, state{tab: 1, said: "from the beginning again"}},
		"!: from Clients":            {"envoy-sotw-nack", []string{"1", "!"}, state{tab: 1, seq: 17, said: "nack-received", not: "from the beginning again"}},
		"!: nothing":                 {"envoy-sotw", []string{"!"}, state{tab: 1, said: "no rule has found anything of weight"}},
		"!: a filter that hides it":  {"envoy-sotw-nack", append(append([]string{"/"}, keysTyped("type:lds")...), "!"), state{tab: 1, frame: "filter: none"}},

		"resources: of the worst":     {"envoy-sotw-nack", []string{"3"}, state{tab: 2, frame: "> envoy  envoy"}},
		"resources: of the selected":  {"demo", []string{"1", "j", "r"}, state{tab: 2, frame: "> demo-grpc"}},
		"resources: enter on it":      {"demo", []string{"1", "j", "r", "enter"}, state{tab: 0, frame: "> demo-grpc"}},
		"resources: the next client":  {"demo", []string{"3", "r"}, state{tab: 2, frame: "> demo-grpc"}},
		"resources: round":            {"demo", []string{"3", "r", "r", "r"}, state{tab: 2, frame: "> demo-envoy"}},
		"resources: no other client":  {"envoy-sotw-nack", []string{"3", "r"}, state{tab: 2, said: "there is no other client"}},
		"resources: fold":             {"envoy-sotw-nack", []string{"3", "j", "space"}, state{tab: 2, frame: "+ LDS  ingress", not: "routes"}},
		"resources: unfold":           {"envoy-sotw-nack", []string{"3", "j", "space", "l"}, state{tab: 2, frame: "routes"}},
		"resources: up to the parent": {"envoy-sotw-nack", []string{"3", "j", "j", "j", "j", "h"}, state{tab: 2, frame: ">       └─ CDS  web"}},
		"resources: no children":      {"envoy-sotw-nack", []string{"3", "j", "j", "j", "j", "l"}, state{tab: 2, said: "it refers to nothing"}},
		"resources: words":            {"envoy-sotw-nack", append([]string{"3", "/"}, keysTyped("routes")...), state{tab: 2, query: "routes", frame: "LDS  ingress", not: "CDS"}},
		"resources: no such words":    {"envoy-sotw-nack", append([]string{"3", "/"}, keysTyped("nonsense")...), state{tab: 2, query: "nonsense", frame: "No resource has these words."}},
		"resources: by type":          {"envoy-sotw-nack", []string{"3", "v"}, state{tab: 2, frame: "- CDS\n    CDS  broken", not: "dangling"}},
		"resources: and back":         {"envoy-sotw-nack", []string{"3", "v", "v"}, state{tab: 2, frame: "dangling"}},
		"resources: only it":          {"envoy-sotw-nack", []string{"3", "j", "j", "+", "enter"}, state{tab: 1, query: "name:routes client:envoy", frame: "1 of 3"}},
		"resources: its message":      {"envoy-sotw-nack", []string{"3", "j", "j", "enter"}, state{tab: 2, over: "Message"}},
		"resources: searched for it":  {"demo", []string{"3", "j", "j", "enter"}, state{tab: 2, over: "Message"}},
		"resources: copy":             {"envoy-sotw-nack", []string{"3", "j", "j", "y"}, state{tab: 2, said: "copied the name"}},
		"resources: a command":        {"demo", append([]string{":"}, keysTyped("resources demo-grpc")...), state{tab: 2, frame: "> demo-grpc"}},
		"resources: no such client":   {"demo", append([]string{":"}, keysTyped("resources x")...), state{tab: 1, said: `there is no client "x"`}},
		"resources: nothing to judge": {"envoy-sotw-nack", []string{"3", "d"}, state{tab: 2, said: "that is for a resource"}},

		"stats: only what is selected": {"envoy-sotw-nack", []string{"5", "+", "enter"}, state{tab: 1, query: "client:envoy type:CDS"}},
		"stats: open":                  {"envoy-sotw-nack", []string{"5", "enter"}, state{tab: 4, over: "Message"}},
		"stats: counts":                {"envoy-sotw-nack", []string{"5"}, state{tab: 4, seq: 3, frame: " CDS          4       3"}},

		"pushes: the newest":           {"envoy-sotw-nack", []string{"6"}, state{tab: 5, frame: ">      3 13:32:40"}},
		"pushes: what was rejected":    {"envoy-sotw-nack", []string{"6", "g", "j"}, state{tab: 5, frame: "nacked  envoy: rejected CDS of entry 16 with 17"}},
		"pushes: its messages":         {"envoy-sotw-nack", []string{"6", "g", "j", "enter"}, state{tab: 1, query: "seq:16,17", seq: 16}},
		"pushes: diff":                 {"envoy-sotw-nack", []string{"6", "g", "j", "d"}, state{tab: 5, over: "Diff", frame: "(16, rejected)"}},
		"pushes: filter":               {"envoy-sotw-nack", []string{"6", "/", "r", "e", "j", "enter"}, state{tab: 5, query: "rej", frame: " 1 of 1 "}},
		"pushes: none has these words": {"envoy-sotw-nack", []string{"6", "/", "x", "y", "z", "enter"}, state{tab: 5, query: "xyz", frame: "No push has these words."}},
		"pushes: follow":               {"envoy-sotw-nack", []string{"6", "g", "f"}, state{tab: 5, frame: " 3 of 3   the newest", said: "the newest is selected"}},
		"pushes: copy":                 {"envoy-sotw-nack", []string{"6", "y"}, state{tab: 5, said: "push 3"}},

		"tab: one pane":    {"demo", []string{"tab"}, state{tab: 1, said: "there is one pane here"}},
		"esc: at the root": {"demo", []string{"esc"}, state{tab: 1, said: "q leaves xdsproxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, fileSource(sessionPath(c.session)), 100, 30, Options{Theme: "mono"})
			d.press(c.keys...)
			d.check(name, c.want)
		})
	}
}

// Keys and clicks go to the pane that has the focus.
func TestPanes(t *testing.T) {
	open := func(t *testing.T) *driver {
		return drive(t, fileSource(sessionPath("demo")), 160, 50, Options{Theme: "mono"})
	}
	for name, c := range map[string]struct {
		keys []string
		want state
	}{
		"the timeline has the keys":                 {nil, state{tab: 1, frame: "[TIMELINE]"}},
		"tab goes on to the message":                {[]string{"tab"}, state{tab: 1, frame: "[DETAIL]"}},
		"to the clients":                            {[]string{"tab", "tab"}, state{tab: 1, frame: "[CLIENTS]"}},
		"and round":                                 {[]string{"tab", "tab", "tab", "tab", "tab"}, state{tab: 1, frame: "[TIMELINE]"}},
		"shift+tab goes back":                       {[]string{"shift+tab"}, state{tab: 1, frame: "[VIOLATIONS]"}},
		"resources follow the client":               {[]string{"tab", "tab", "j"}, state{tab: 1, frame: "> demo-grpc  ACKED 4"}},
		"a client that is selected filters nothing": {[]string{"tab", "tab", "j", "esc"}, state{tab: 1, frame: "[TIMELINE]", seq: 1}},
		"enter on a client filters":                 {[]string{"tab", "tab", "j", "enter"}, state{tab: 1, query: "client:demo-grpc", frame: "[TIMELINE]"}},
		"enter on a finding filters":                {[]string{"shift+tab", "enter"}, state{tab: 1, query: "seq:46,48,53 client:demo-envoy type:CDS", seq: 53}},
		"a filter is that of the pane":              {append([]string{"shift+tab", "/"}, keysTyped("pgv")...), state{tab: 1, query: "pgv", frame: "[VIOLATIONS]"}},
		"esc takes it away, and then leaves":        {append(append([]string{"shift+tab", "/"}, keysTyped("pgv")...), "esc", "esc"), state{tab: 1, frame: "[TIMELINE]"}},
		"resources in full":                         {[]string{"tab", "tab", "j", "3"}, state{tab: 2, frame: "> demo-grpc"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			d.press(c.keys...)
			d.check(name, c.want)
		})
	}

	d := open(t)
	d.frame()
	for _, c := range []struct {
		x, y  int
		twice bool
		want  state
	}{
		{5, 2, false, state{tab: 1, frame: "[CLIENTS]"}},
		{5, 3, false, state{tab: 1, frame: "> demo-grpc"}},
		{5, 4, false, state{tab: 1, frame: "[RESOURCES]"}}, // its title
		{60, 4, false, state{tab: 1, frame: "[TIMELINE]", seq: 3}},
		{60, 40, false, state{tab: 1, frame: "[DETAIL]"}},
		{5, 2, true, state{tab: 1, query: "client:demo-envoy", frame: "[TIMELINE]"}},
	} {
		d.run(d.m.pressBody(c.x, c.y, c.twice))
		d.look()
		d.check("click", c.want)
	}
}

// A finding that is silenced is noted in a log that takes notes, and stays known
// whatever else is sorted or hidden; ! leaves it out.
func TestSilence(t *testing.T) {
	src := fileSource(sessionPath("demo"))
	var notes []session.Note
	src.Annotate = func(n session.Note) { notes = append(notes, n) }
	d := drive(t, src, 100, 30, Options{Theme: "mono"})
	d.press("4")
	first := *d.m.violations.Finding()
	d.press(append([]string{":"}, keysTyped("silence")...)...)
	if want := (session.Note{Code: session.NoteSilenced, Text: first.Rule.ID, About: first.LastSeq}); len(notes) != 1 || notes[0] != want {
		t.Errorf("the notes are %v, want %v", notes, want)
	}
	d.check("silenced", state{tab: 3, said: "the recording says so, too", frame: "> ~ nack-immediate-resend"})
	d.press("s", "s", "G")
	d.check("sorted", state{tab: 3, said: "sorted: rule", frame: "> ~ nack-received known"})
	d.press("1", "!")
	if s := d.m.timeline.Selected(d.m); s.Seq == first.LastSeq {
		t.Errorf("! goes to %d, which is known", s.Seq)
	}
}
