package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/menu"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// everyView are the views that there are, on a session in which each has
// something to show.
func everyView(d *driver) []view.View {
	m := d.m
	all := m.tabs()
	for _, keys := range [][]string{
		{":", "1", "7", "enter", "enter"}, {":", "1", "7", "enter", "d"}, {":", "1", "7", "enter", "L"}, {":", "1", "7", "enter", "Y"},
	} {
		d.press("2")
		d.press(keys...)
		if len(m.over) == 0 {
			d.tb.Fatalf("%v opens nothing:\n%s", keys, d.frame())
		}
		all = append(all, m.top())
	}
	d.press("2")
	for _, c := range []string{"explain nack-received"} {
		m.command(c)
		all = append(all, m.top())
	}
	d.press("2")
	return append(all, page.NewHelp(m.timeline), page.NewEvents(m.eventParagraphs), page.NewBootstrap(m), menu.NewExport(m.log, view.Selection{}, ""))
}

func TestKeysAreBoundOnce(t *testing.T) {
	by := map[string]key.Action{}
	acts := map[key.Action]bool{}
	for _, b := range key.All() {
		if b.Help == "" || len(b.Keys) == 0 {
			t.Errorf("%s has no help, or no key", b.Act)
		}
		if acts[b.Act] {
			t.Errorf("%s stands there twice", b.Act)
		}
		acts[b.Act] = true
		for _, k := range b.Keys {
			if of, is := by[k]; is {
				t.Errorf("%s is %s and %s", k, of, b.Act)
			}
			by[k] = b.Act
		}
	}
}

// What a view offers has a key, once, and whatever has a key is offered
// somewhere.
func TestOffersHaveKeys(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	offered := map[key.Action]bool{}
	for _, a := range key.Global() {
		offered[a] = true
	}
	for _, v := range everyView(d) {
		seen := map[key.Action]bool{}
		for _, o := range v.Keys() {
			if key.BindingOf(o.Act).Act == "" {
				t.Errorf("%s offers %s, which has no key", v.Title(), o.Act)
			}
			if seen[o.Act] {
				t.Errorf("%s offers %s twice", v.Title(), o.Act)
			}
			seen[o.Act], offered[o.Act] = true, true
		}
	}
	for _, b := range key.All() {
		if !offered[b.Act] {
			t.Errorf("%s (%s) works nowhere", b.Act, b.Keys[0])
		}
	}
}

// docs/keys.md is what the program does.
func TestKeysDocument(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	golden.Is(t, "../docs/keys.md", keysDocument(d))
}

// Help lists what the view offers and what works everywhere, in the same words.
func TestHelpListsEveryKey(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	for _, v := range everyView(d) {
		page := (&page.Help{Of: v}).KeyPage()
		has := func(a key.Action, said string) bool {
			return slices.ContainsFunc(page, func(p widget.Paragraph) bool {
				return p.Head == strings.Join(key.BindingOf(a).Keys, " ") && p.Text == said
			})
		}
		here := map[key.Action]bool{}
		for _, o := range v.Keys() {
			here[o.Act] = true
			if !has(o.Act, sayOf(o)) {
				t.Errorf("help of %s says nothing of %s", v.Title(), o.Act)
			}
		}
		for _, a := range key.Global() {
			if !here[a] && !has(a, key.BindingOf(a).Help) {
				t.Errorf("help of %s says nothing of %s", v.Title(), a)
			}
		}
	}
}

func sayOf(o key.Offer) string {
	if o.Help != "" {
		return o.Help
	}
	return key.BindingOf(o.Act).Help
}

func keysDocument(d *driver) string {
	var b strings.Builder
	b.WriteString(`# Keys

A key has one meaning everywhere. Where it cannot act it says why, on the line above the last. ` + "`?`" + ` shows what works where you are; this page is made from the same table.

| key | action | what it does |
|---|---|---|
`)
	for _, k := range key.All() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", keyNames(k.Keys), k.Act, strings.ReplaceAll(k.Help, "|", `\|`))
	}
	b.WriteString("\n## By view\n\nThese work everywhere, unless a view below says something else: ")
	var names []string
	for _, a := range key.Global() {
		names = append(names, keyNames(key.BindingOf(a).Keys))
	}
	b.WriteString(strings.Join(names, ", ") + ".\n")
	for _, v := range everyView(d) {
		offers := v.Keys()
		if len(offers) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n| key | what it does here |\n|---|---|\n", v.Title())
		var moved []string
		for _, o := range offers {
			if slices.Contains(key.Moves(), o.Act) && o.Help == "" {
				moved = append(moved, keyNames(key.BindingOf(o.Act).Keys))
				continue
			}
			fmt.Fprintf(&b, "| %s | %s |\n", keyNames(key.BindingOf(o.Act).Keys), strings.ReplaceAll(sayOf(o), "|", `\|`))
		}
		if len(moved) > 0 {
			fmt.Fprintf(&b, "| %s | move |\n", strings.Join(moved, " "))
		}
	}
	b.WriteString(`
## Mouse

A click selects, a double click opens, the wheel scrolls, a click on a tab shows it, and one on the titles of Clients sorts. ` + "`--no-mouse`" + ` leaves the mouse to the terminal.

## Where something is typed

enter does it, esc gives it up, tab and shift+tab complete. What is pasted goes to prompts only.
`)
	return b.String()
}

func keyNames(keys []string) string {
	var out []string
	for _, k := range keys {
		out = append(out, "`"+k+"`")
	}
	return strings.Join(out, " ")
}
