package tui

import (
	"testing"
	"time"
)

// What a key brought is read before what nobody asked for takes its place, and
// that has its own time then.
func TestNoticeWaitsForAnswer(t *testing.T) {
	begin := time.Unix(0, 0)
	after := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	e := events{all: []message{
		{at: after(0), text: "answer"},
		{at: after(1), text: "notice", notice: true},
		{at: after(2), text: "second notice", notice: true},
	}}
	for s, want := range map[int]string{2: "answer", 6: "answer", 7: "second notice", 12: "second notice", 13: ""} {
		if got, is := e.shown(after(s)); is != (want != "") || is && got.text != want {
			t.Errorf("after %d seconds: %q (%v), want %q", s, got.text, is, want)
		}
	}
	e.all = append(e.all, message{at: after(3), text: "another answer"})
	if got, _ := e.shown(after(4)); got.text != "another answer" {
		t.Errorf("another answer does not come at once: %q", got.text)
	}
	e.all = []message{{at: after(0), text: "notice", notice: true}}
	if got, is := e.shown(after(1)); !is || got.text != "notice" {
		t.Errorf("a notice alone is not shown: %q", got.text)
	}
}
