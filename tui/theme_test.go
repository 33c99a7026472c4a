package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// The words are there without the colours: frames of all themes are the same,
// but for what colours them.
func TestColoursAreBesideTheWords(t *testing.T) {
	memory := regexp.MustCompile("memory of this process .*")
	for _, session := range []string{"envoy-sotw-nack", "grpc-go-nack"} {
		for _, key := range []string{"1", "2", "3", "4", "5", "?"} {
			var mono string
			for _, name := range append([]string{"mono"}, widget.Themes()...) {
				d := drive(t, fileSource(sessionPath(session)), 120, 35, Options{Theme: name})
				d.m.stats.Measure = func() uint64 { return 1 << 20 }
				d.press(key)
				_ = d.frame()
				raw := d.m.Frame()
				plainly := memory.ReplaceAllString(ansi.Strip(raw), "") // it is another one each time
				switch {
				case mono == "":
					mono = plainly
					if strings.Contains(raw, "\x1b[3") || strings.Contains(raw, ";3") {
						t.Errorf("%s %s: the theme mono has colours", session, key)
					}
				case plainly != mono:
					t.Errorf("%s %s: the theme %s says something else:\n%s\n%s", session, key, name, mono, plainly)
				}
			}
		}
	}
}

// The theme auto becomes readable on a light background, when the terminal says
// that it has one; others stay as they are.
func TestBackground(t *testing.T) {
	white := tea.BackgroundColorMsg{Color: ansi.XParseColor("#ffffff")}
	black := tea.BackgroundColorMsg{Color: ansi.XParseColor("#000000")}
	for _, c := range []struct {
		theme string
		msg   tea.BackgroundColorMsg
		like  string
	}{{"", white, "light"}, {"auto", white, "light"}, {"auto", black, "auto"}, {"dark", white, "dark"}, {"mono", white, "mono"}, {"light", black, "light"}, {"colorblind", black, "colorblind"}} {
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: c.theme})
		d.give(c.msg)
		like := widget.NewTheme(c.like, false)
		if d.m.theme.SGR != like.SGR {
			t.Errorf("%q on %v is not like %s", c.theme, c.msg.Color, c.like)
		}
	}
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.give(white)
	if _, err := d.m.setTheme("auto"); err != nil {
		t.Fatal(err)
	}
	if like := widget.NewTheme("light", false); d.m.theme.SGR != like.SGR {
		t.Error("a theme that is chosen later forgets the background")
	}
}

func TestASCII(t *testing.T) {
	for _, name := range []string{"envoy-sotw-nack", "grpc-go-nack"} {
		d := drive(t, fileSource(sessionPath(name)), 160, 50, Options{Theme: "mono", ASCII: true})
		for _, key := range []string{"1", "space", "2", "3", "4", "5", "?", "E"} {
			d.press(key)
			for _, c := range d.frame() {
				if strings.ContainsRune(fmt.Sprint(widget.NewTheme("mono", false).Glyph), c) && c > 0x7f {
					t.Errorf("%s %s: %q is on the screen", name, key, c)
					break
				}
			}
		}
	}
}
