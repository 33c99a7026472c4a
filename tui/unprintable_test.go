package tui

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Whatever peers write, no view, page or dialog of the screen shows a character
// of theirs that a terminal would obey: every key is pressed in every view, and
// every key after it.
func TestNothingUnprintable(t *testing.T) {
	const nasty = "\x1b]0;x\x07\x00\x7f\r\b\u0085\u009b31m\u200e\u200f\u061c\u202e\u2028\u2029\u2066\u2069\u200b\ufeff\U000e0041"
	text, err := os.ReadFile("../cmd/xdsproxy/testdata/nasty.xds")
	if err != nil {
		t.Fatal(err)
	}
	quoted := strconv.Quote(nasty)
	s, err := script.Parse("nasty.xds", bytes.ReplaceAll(text, []byte("NASTY"), []byte(quoted[1:len(quoted)-1])))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nasty.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	worse := nasty + "\xff"
	for e := range s.Entries() {
		if e.Peer != nil {
			peer := *e.Peer
			peer.ClientTLS = &session.TLS{Version: worse, Cipher: worse, ALPN: worse, ServerName: worse, Identities: []string{worse}, Issuer: worse}
			e.Peer = &peer
		}
		if e.Headers != nil {
			e.Headers = append(slices.Clone(e.Headers), session.Field{Name: worse, Value: worse})
		}
		log.Append(e)
	}
	log.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{Code: session.NoteRemark, Text: worse, About: 5}})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	source := fileSource(path)
	source.Name = "x" + worse
	d := drive(t, source, 120, 40, Options{Theme: "mono"})
	ours := regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	look := func(keys ...string) {
		frame := ours.ReplaceAllString(d.m.Frame(), "")
		for i, r := range frame {
			if _, n := utf8.DecodeRuneInString(frame[i:]); r != '\n' && (!strconv.IsPrint(r) || r == utf8.RuneError && n == 1) {
				t.Fatalf("%s shows %q", strings.Join(keys, " "), frame[max(0, i-60):min(len(frame), i+20)])
			}
		}
	}
	var keys []string
	for _, b := range keymap() {
		keys = append(keys, b.keys...)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ctrl+c" })
	for _, view := range []string{"1", "2", "3", "4", "5"} {
		for _, first := range keys {
			d.press("esc", "esc", "esc", view, "down", first)
			look(view, first)
			for _, next := range []string{"enter", "down", "tab", "?", "y", "e"} {
				d.press(next)
				look(view, first, next)
			}
			d.give(tea.WindowSizeMsg{Width: 120, Height: 40})
		}
	}
	if title := d.m.View().WindowTitle; strings.ContainsFunc(title, func(r rune) bool { return !strconv.IsPrint(r) }) {
		t.Errorf("the title of the window is %q", title)
	}
}
