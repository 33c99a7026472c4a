package menu

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view/clients"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

func TestCopyNamesOfNothing(t *testing.T) {
	scr := viewtest.New(t, viewtest.Record(t, append(viewtest.StreamBegins(), viewtest.MessageEntry(session.Client, nil))...)).Read(t)
	all, err := scr.Log().Fetch.Fetch(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := copyNames(t.Context(), scr.Log(), all[2]); err == nil {
		t.Errorf("the names of a stream are %q", text)
	}
}

// A click means the form that is there, also where there is no room for all of them.
func TestClickOnAForm(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	for _, h := range []int{20, 8, 5, 4, 3} {
		v := &copyMenu{under: clients.New(), forms: []copyForm{{"row", "", nil}, {"yaml", "", nil}, {"json", "", nil}, {"names", "", nil}}}
		for y := range v.Draw(scr, 60, h) {
			v.at = -1
			scr.Run(v.Click(scr, 0, y, false))
			shown := v.Draw(scr, 60, h)[y]
			if is := strings.HasPrefix(shown.PlainText(), " > "); is != (v.at >= 0) {
				t.Errorf("in %d lines a click on line %d selects form %d, and there is %q", h, y, v.at, shown.PlainText())
			}
		}
	}
}
