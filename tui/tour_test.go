package tui

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// edges are the lines around the body, with the roles of their texts, and the titles in it.
func (d *driver) edges() string {
	_ = d.m.Frame()
	d.look()
	lines := d.m.lines()
	var b strings.Builder
	fmt.Fprintf(&b, "== %dx%d\n", d.m.w, d.m.h)
	for i, l := range lines {
		text := strings.TrimRight(l.PlainText(), " ")
		if i < d.m.bodyTop() || i >= d.m.bodyBottom() || strings.Contains(text, d.m.theme.Glyph.Line+" ") {
			fmt.Fprintf(&b, "%2d %s%s\n", i, viewtest.Looks(&l), text)
		}
	}
	return b.String()
}

// What stands around the views on screens of all sizes, in every state that it tells of.
func TestTourOfTheFrame(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	o := Options{Theme: "mono", Now: func() time.Time { return at }}
	stats := recorder.Stats{}
	busy := proxying("127.0.0.1:18000", "[::]:18001")
	busy.Proxy.Stats = func() recorder.Stats { return stats }
	busy.Proxy.Recording = func() string { return "/var/log/xds/session-2.xdsp" }
	busy.Proxy.Clients, busy.Notices = func() int { return 2 }, new(Notices)
	live := fileSource(sessionPath("demo"))
	live.Live = true
	var got strings.Builder
	show := func(what string, d *driver) {
		got.WriteString("\n" + what + " " + d.edges())
	}
	sizes := func(what string, src Source, keys ...string) {
		d := drive(t, src, 80, 24, o)
		d.press(keys...)
		for _, size := range [][2]int{{40, 10}, {47, 14}, {59, 20}, {60, 14}, {60, 15}, {66, 16}, {73, 24}, {80, 24}, {98, 34}, {119, 35}, {120, 34}, {120, 35}, {139, 36}, {160, 50}, {240, 80}} {
			d.give(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			show(what, d)
		}
	}
	sizes("demo", fileSource(sessionPath("demo")), "2")
	sizes("clients", fileSource(sessionPath("demo")), "1")
	sizes("filtered", live, append([]string{"2", "/"}, keysTyped("type:cds -nack")...)...)
	sizes("message", fileSource(sessionPath("envoy-sotw-nack")), "2", "enter", "?")
	sizes("proxy", busy, "4")
	sizes("fleet", storySource(t, "nack-received-fleet-of-many-causes"), "2", "!")

	d := drive(t, busy, 120, 35, o)
	state := func(what string, change func()) {
		change()
		show(what, d)
	}
	route := &d.m.log.Proxy.Routes[0]
	state("failing", func() { stats.Failing = true })
	state("lost", func() { stats.Failing, stats.Lost = false, 1; d.m.losses() })
	state("lost a while ago", func() { at = at.Add(lossShown - 1) })
	state("lost long ago", func() { at = at.Add(1) })
	state("away", func() { stats.Losses = 1; d.m.losses() })
	state("away, in private", func() { d.press("P") })
	state("away a while ago", func() { d.press("P"); at = at.Add(awayShown - 1) })
	state("away long ago", func() { at = at.Add(1) })
	state("unverified", func() { route.Unverified = true })
	state("one route", func() { d.m.log.Proxy.Routes = d.m.log.Proxy.Routes[:1] })
	state("no route", func() { d.m.log.Proxy.Routes = nil })
	state("held", func() { d.press("z") })
	state("and a key", func() { d.press("j") })
	state("let go", func() { d.press("z") })
	state("leaving", func() { d.press("q") })
	state("down", func() { d.press("down", "down", "down", "up") })
	state("staying", func() { d.press("c") })
	state("the palette", func() { d.press("ctrl+p") })
	state("a prompt", func() { d.press("esc", "/") })
	state("no prompt", func() { d.press("esc") })
	state("zoomed", func() { d.press("tab", "Z") })
	state("the next one zoomed", func() { d.press("tab") })
	state("not zoomed", func() { d.press("Z") })
	state("said by others", func() { d.m.log.Notices.Add("a WARNing"); d.m.log.Notices.Add("an ERROR"); d.m.notice() })
	state("a notice", func() { d.m.log.Notices.Add("a word"); d.m.notice() })
	state("is gone", func() { at = at.Add(messageTime + 1) })
	state("linked", func() { d.m.log.Link = func() string { return "the link to the log is down" } })
	golden.Is(t, filepath.Join("testdata", "tour-frame.txt"), got.String())
}

// Which tab, and what of the body, a click at each place leads to.
func TestTourOfClicks(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	o := Options{Theme: "mono", Now: func() time.Time { return at }}
	var got strings.Builder
	for _, size := range [][2]int{{60, 20}, {80, 24}, {130, 40}} {
		d := drive(t, fileSource(sessionPath("demo")), size[0], size[1], o)
		_ = d.frame()
		at := -1
		for x := range size[0] {
			d.press("2")
			d.clickAt(x, 1)
			if d.m.tab != at {
				at = d.m.tab
				fmt.Fprintf(&got, "%v, from %d on: tab %d\n", size, x, at+1)
			}
		}
		d.press("2")
		last := ""
		for y := range size[1] {
			for x := 0; x < size[0]; x += 39 {
				if y == 1 {
					continue
				}
				d.m.clicked = click{}
				d.clickAt(x, y)
				if is := fmt.Sprintf("%s %s", d.m.focused().Title(), d.place()); is != last {
					last = is
					fmt.Fprintf(&got, "%v, at %d, %d: %s\n", size, x, y, is)
				}
			}
		}
	}
	golden.Is(t, filepath.Join("testdata", "tour-clicks.txt"), got.String())
}

// A second click opens if it comes soon, at the same place; a third one begins anew.
func TestClicksThatOpen(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		x, y  int
		after time.Duration
		times int
		opens int
	}{{20, 5, 0, 2, 1}, {20, 5, doubleClick, 2, 1}, {20, 5, doubleClick + 1, 2, 0}, {21, 5, 0, 2, 0}, {20, 6, 0, 2, 0}, {20, 5, 0, 3, 1}} {
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono", Now: func() time.Time { return at }})
		_ = d.frame()
		d.give(tea.MouseClickMsg{X: 20, Y: 5, Button: tea.MouseLeft})
		opened := 0
		for range test.times - 1 {
			at = at.Add(test.after)
			d.give(tea.MouseClickMsg{X: test.x, Y: test.y, Button: tea.MouseLeft})
			opened = max(opened, len(d.m.over))
			d.m.over = nil
		}
		if opened != test.opens {
			t.Errorf("%+v: %d are open", test, opened)
		}
	}
}

// What the message line says of messages and notices that follow each other.
func TestTourOfEvents(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	at := begin
	src := fileSource(sessionPath("envoy-sotw-nack"))
	src.Notices = new(Notices)
	m := newModel(t.Context(), src, Options{Theme: "mono", Now: func() time.Time { return at }})
	t.Cleanup(m.log.Fetch.Close)
	var got strings.Builder
	step := func(after time.Duration, what string) {
		at = at.Add(after)
		word, text, _ := strings.Cut(what, " ")
		switch word {
		case "says":
			m.Say("%s", text)
		case "complains":
			m.Complain(errors.New(text))
		case "notice":
			m.log.Notices.Add(text)
			m.notice()
		case "key":
			m.events.answered()
		}
		l, is := m.events.now(at)
		fmt.Fprintf(&got, "%-14v %-24s %v %s%s\n", at.Sub(begin), what, is, viewtest.Looks(&l), l.PlainText())
	}
	step(0, "looks")
	step(0, "says one")
	step(messageTime, "looks")
	step(1, "looks")
	step(0, "notice two")
	step(messageTime, "looks")
	step(1, "looks")
	step(0, "says three")
	step(time.Second, "notice WARN four")
	step(messageTime-time.Second, "looks")
	step(1, "looks")
	step(messageTime-1, "looks")
	step(1, "looks")
	step(0, "complains five")
	step(0, "key")
	step(0, "notice error six")
	step(messageTime, "looks")
	step(1, "looks")
	step(0, "says seven")
	step(time.Second, "notice eight")
	step(0, "notice warning nine")
	step(messageTime-time.Second, "looks")
	step(1, "looks")
	for i := range maxEvents + 2 {
		m.Say("%d", i)
	}
	step(0, "looks")
	m.events.answered()
	m.Say("the last")
	step(0, "looks")
	step(0, "key")
	fmt.Fprintf(&got, "%d are kept, from %s on, of %d\n", len(m.events.all), m.events.all[0].text, m.events.said)
	for _, p := range m.eventParagraphs()[maxEvents-2:] {
		fmt.Fprintf(&got, "%+v\n", p)
	}
	golden.Is(t, filepath.Join("testdata", "tour-events.txt"), got.String())
}

// What commands lead to.
func TestTourOfCommands(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	o := Options{Theme: "mono", Now: func() time.Time { return at }}
	first := drive(t, fileSource(sessionPath("demo")), 80, 24, o)
	var got strings.Builder
	for _, before := range [][]string{{"1"}, {"2", "G"}, {"4"}, {"2", "enter"}} {
		for _, c := range []string{
			"clients", "timeline", "resources", "resources nobody", "resources demo-envoy", "violations", "stats", "pushes", "goto 5", "goto 999", "goto soon",
			"filter nack", "filter (", "explain", "explain nonce-mismatch", "explain nothing", "silence", "events", "help", "theme light", "theme none", "quit", "no such", "",
		} {
			d := first.anew(o)
			d.press(before...)
			d.press(":")
			d.press(keysTyped(c)...)
			fmt.Fprintf(&got, "%v :%s: %s %d\n", before, c, d.place(), d.m.outcome)
		}
	}
	golden.Is(t, filepath.Join("testdata", "tour-commands.txt"), got.String())
}

// What is copied: at once, from a size on into a file, and from another on only if asked again.
func TestTourOfCopies(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	var got strings.Builder
	for _, n := range []int{0, 1, maxClipboard, maxClipboard + 1, sureAbove, sureAbove + 1, sureAbove + 1, sureAbove + 1} {
		said := len(d.m.events.all)
		cmd := d.m.Copy(strings.Repeat("a", n), "it")
		kind := "nothing"
		if cmd != nil {
			switch msg := cmd().(type) {
			case tea.BatchMsg:
				kind = fmt.Sprintf("%d to do", len(msg))
			default:
				kind = fmt.Sprintf("%T", msg)
			}
		}
		fmt.Fprintf(&got, "%d: %s", n, kind)
		for _, e := range d.m.events.all[said:] {
			got.WriteString(" " + e.text)
		}
		got.WriteString("\n")
	}
	for _, text := range []string{"a", "a\n", "a\nb", "a\nb\n\n"} {
		fmt.Fprintf(&got, "%q is %s\n", text, sizeNote(text))
	}
	for _, h := range []int{10, 24} {
		d.give(tea.WindowSizeMsg{Width: 80, Height: h})
		fmt.Fprintf(&got, "a screen of %d:\n%s", h, d.m.screenText())
	}
	golden.Is(t, filepath.Join("testdata", "tour-copies.txt"), got.String())
}

// How often it is looked whether there is more, and when it is drawn and asked again.
func TestTourOfLooks(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	src := fileSource(sessionPath("demo"))
	src.Live = true
	d := drive(t, src, 80, 24, Options{Theme: "mono", Now: func() time.Time { return at }})
	m := d.m
	_ = m.View()
	if m.stale {
		t.Error("what was drawn is not what is drawn")
	}
	for _, test := range []struct {
		after time.Duration
		live  bool
		said  time.Duration
		want  bool
	}{{time.Second - 1, true, 0, false}, {time.Second, true, 0, true}, {time.Hour, false, 0, false}, {time.Second, false, messageTime, true}, {time.Second, false, messageTime + 1, false}} {
		m.log.Live, m.drawnAt, m.events = test.live, at.Add(-test.after), events{}
		if test.said > 0 {
			m.tell(message{text: "x", at: m.drawnAt.Add(-test.said)})
		}
		if got := m.ages(); got != test.want {
			t.Errorf("%+v: it has aged: %v", test, got)
		}
	}
	for _, test := range []struct {
		ago                    time.Duration
		looking, frozen, moved bool
		want                   bool
	}{
		{ago: time.Hour, moved: true, want: true},
		{ago: time.Hour},
		{ago: time.Hour, moved: true, looking: true},
		{ago: time.Hour, moved: true, frozen: true},
	} {
		m.looking, m.frozen, m.seen.Asked = test.looking, test.frozen, at.Add(-test.ago)
		m.seen.Generation = m.log.Index.Generation()
		if test.moved {
			m.seen.Generation--
		}
		if got := m.observe() != nil; got != test.want {
			t.Errorf("%+v: it asks: %v", test, got)
		}
		m.looking, m.frozen = false, false
	}
}

// How far a log was read is said where that is far behind.
func TestTourOfProgress(t *testing.T) {
	m := newModel(t.Context(), fileSource(sessionPath("demo")), Options{Theme: "mono"})
	t.Cleanup(m.log.Fetch.Close)
	last := session.Seq(0)
	for _, test := range []struct {
		last session.Seq
		of   *Proxy
		want string
	}{
		{lagShown, nil, ""},
		{lagShown + 1, nil, "reading 0%"},
		{lagShown, &Proxy{}, ""},
		{lagShown + 1, &Proxy{}, "lag 1k"},
	} {
		last = test.last
		m.log.Last, m.log.Proxy = last, test.of
		if test.of != nil {
			test.of.Stats = func() recorder.Stats { return recorder.Stats{Last: last} }
		}
		if got := m.progress(); got != test.want {
			t.Errorf("%d: %q, not %q", test.last, got, test.want)
		}
	}
}

// What is asked before the screen goes: each key, and what comes of it.
func TestTourOfDialogs(t *testing.T) {
	src := proxying("127.0.0.1:18000")
	clients := 1
	src.Proxy.Clients = func() int { return clients }
	d := drive(t, src, 80, 24, Options{Theme: "mono"})
	var got strings.Builder
	for _, keys := range []string{"d", "s", "y", "c", "esc", "n", "q", "x", "enter", "down enter", "down down enter", "down down down enter", "up enter", "j k enter", "tab tab shift+tab enter"} {
		clients = 3 - clients
		d.m.outcome, d.m.dialog = Stopped, nil
		_ = d.m.leave()
		left := false
		for _, k := range strings.Fields(keys) {
			if d.m.dialog == nil {
				t.Fatalf("%s: it is gone before", keys)
			}
			if cmd := d.m.key(keyPress(k)); cmd != nil {
				_, left = cmd().(tea.QuitMsg)
			}
		}
		fmt.Fprintf(&got, "%s: leaves %v, %d, asks %v\n", keys, left, d.m.outcome, d.m.dialog != nil)
	}
	for _, size := range [][2]int{{40, 10}, {80, 24}} {
		d.give(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		_ = d.m.leave()
		for i, l := range d.m.lines() {
			fmt.Fprintf(&got, "%2d %s%s\n", i, viewtest.Looks(&l), strings.TrimRight(l.PlainText(), " "))
		}
	}
	golden.Is(t, filepath.Join("testdata", "tour-dialogs.txt"), got.String())
}

// Which finding comes next, from where.
func TestTourOfViolations(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	o := Options{Theme: "mono", Now: func() time.Time { return at }}
	first := drive(t, storySource(t, "nack-received-fleet-of-many-causes"), 80, 24, o)
	var got strings.Builder
	for _, keys := range [][]string{{"1", "!"}, {"2", "G", "!"}, {"2", "g", "!", "!", "!"}, {"5", "!"}, {"2", "enter", "!", "!"}, {"4", "j", "enter", "!"}, {"3", "!"}} {
		d := first.anew(o)
		d.press(keys...)
		fmt.Fprintf(&got, "%v: %s at %d\n", keys, d.place(), d.m.timeline.At)
	}
	for _, severity := range []check.Severity{check.Warning, check.Error} {
		d := first.anew(o)
		for i := range d.m.seen.Folded {
			d.m.seen.Folded[i].Severity = severity
		}
		l := d.m.tally()
		fmt.Fprintf(&got, "%v: %s%s\n", severity, viewtest.Looks(&l), l.PlainText())
	}
	golden.Is(t, filepath.Join("testdata", "tour-violations.txt"), got.String())
}

// What is above a view is bounded, and goes one by one.
func TestViewsAboveAreBounded(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "mono"})
	d.press("2")
	for range maxOver + 3 {
		d.press("enter")
		d.m.Push(d.m.top())
	}
	if n := len(d.m.over); n != maxOver {
		t.Errorf("%d are open", n)
	}
	for n := maxOver; n > 0; n-- {
		if cmd := d.m.doGlobal([]key.Action{key.Quit, key.Close}[n%2]); cmd != nil || len(d.m.over) != n-1 {
			t.Fatalf("%d are open, not %d", len(d.m.over), n-1)
		}
	}
	if l := d.m.tabNames(false); slices.ContainsFunc(l.Spans, func(s widget.Span) bool { return strings.Contains(s.Text, ">") }) {
		t.Errorf("above the timeline is %q", l.PlainText())
	}
}
