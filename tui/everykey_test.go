package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/menu"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// Every key of docs/keys.md, pressed in every view at several places of it, does
// something that can be seen, or says why not.
func TestEveryKeyActsOrSaysWhyNot(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	views := map[string]func(d *driver){
		"Clients":    func(d *driver) { d.press("1") },
		"Timeline":   func(d *driver) { d.press("2") },
		"Resources":  func(d *driver) { d.press("3") },
		"Violations": func(d *driver) { d.press("4") },
		"Stats":      func(d *driver) { d.press("5") },
		"Pushes":     func(d *driver) { d.press("6") },
		"Message":    func(d *driver) { openHere(d, 46, "enter") },
		"Diff":       func(d *driver) { openHere(d, 46, "d") },
		"Ladder":     func(d *driver) { openHere(d, 46, "L") },
		"Copy as":    func(d *driver) { openHere(d, 46, "Y") },
		"Rule":       func(d *driver) { d.press(":"); d.press(keysTyped("explain nack-received")...) },
		"Help":       func(d *driver) { d.press("?") },
		"Events":     func(d *driver) { d.press("E") },
		"Bootstrap":  func(d *driver) { d.m.Push(page.NewBootstrap(d.m)) },
		"Export":     func(d *driver) { d.m.Push(menu.NewExport(d.m.log, view.Selection{}, "")) },
	}
	places := map[string][]string{"at first": nil, "at the end": {"G"}}
	var told []string // what each led to
	for _, source := range []struct {
		name string
		w, h int
		keys int // of each action, that are tried
	}{{"demo", 80, 24, 2}, {"demo", 160, 50, 1}, {"envoy-sotw", 80, 24, 1}} {
		o := Options{Theme: "mono", Now: func() time.Time { return at }}
		first := drive(t, fileSource(sessionPath(source.name)), source.w, source.h, o)
		for title, open := range views {
			if source.name == "envoy-sotw" && (title == "Message" || title == "Diff" || title == "Ladder" || title == "Copy as") {
				continue // it has no such entry
			}
			for place, moves := range places {
				if place != "at first" && source.w > 80 {
					continue
				}
				for _, b := range key.All() {
					for _, k := range b.Keys[:min(len(b.Keys), source.keys)] {
						d := first.anew(o)
						_ = seenBy(d)
						open(d)
						if got := d.m.top().Title(); got != title {
							t.Fatalf("%s is not open, but %s", title, got)
						}
						d.press(moves...)
						said, before := d.m.events.said, seenBy(d)
						acted := d.acts(d.m.key(keyPress(k)))
						d.look()
						if place == "at first" && k == b.Keys[0] && source.name == "demo" {
							told = append(told, fmt.Sprintf("%d %-10s %-9s %s", source.w, title, k, d.place()))
						}
						if !acted && d.m.events.said == said && seenBy(d) == before {
							t.Errorf("%s in %s, %s of %s at %dx%d, does nothing, and does not say why", k, title, place, source.name, source.w, source.h)
						}
					}
				}
			}
		}
	}
	slices.Sort(told)
	golden.Is(t, filepath.Join("testdata", "every-key.txt"), strings.Join(told, "\n")+"\n")
}

// place is where somebody is: the view, what has the keys, what is asked, and what is said.
func (d *driver) place() string {
	m := d.m
	said := m.messageLine()
	text := fmt.Sprintf("%d %s [%s] %s%s", m.tab+1, m.top().Title(), m.top().Where(m), viewtest.Looks(&said), strings.TrimRight(said.PlainText(), " "))
	if f, is := m.top().(view.Filterable); is && f.Query() != "" {
		text += " /" + f.Query()
	}
	if m.prompt != nil {
		text += fmt.Sprintf(" asks %v for %s", m.prompt.Kind, m.prompt.to.Title())
	}
	if m.palette != nil {
		text += " palette"
	}
	if m.dialog != nil {
		text += " asks: " + m.dialog.title
	}
	if m.frozen {
		text += " held"
	}
	return text
}

func openHere(d *driver, seq int, k string) {
	d.press("2", ":")
	d.press(keysTyped(fmt.Sprint(seq))...)
	d.press(k)
}

// anew is another screen on what one has read.
func (d *driver) anew(o Options) *driver {
	m := newModel(d.m.log.Context, d.m.log.Source, o)
	*m.log, m.w, m.h, m.stats.Measure = *d.m.log, d.m.w, d.m.h, d.m.stats.Measure
	again := &driver{d.tb, m}
	again.look()
	return again
}

// seenBy is all that a person sees: the screen, and where the cursor is.
func seenBy(d *driver) string {
	frame := d.frame()
	if c := d.m.View().Cursor; c != nil {
		frame += fmt.Sprint(c.Position)
	}
	return frame
}

// acts runs what came of a key, and says whether that is something outside of the
// screen: leaving, a pager, the clipboard.
func (d *driver) acts(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	switch msg := cmd().(type) {
	case nil:
		return false
	case tea.QuitMsg:
		return true
	case tea.BatchMsg:
		acted := false
		for _, c := range msg {
			acted = d.acts(c) || acted
		}
		return acted
	default:
		if t := fmt.Sprintf("%T", msg); t == "tea.execMsg" {
			return true
		}
		_, next := d.m.Update(msg)
		return d.acts(next)
	}
}
