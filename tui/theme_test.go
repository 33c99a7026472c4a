package tui

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// xterm256 is a colour of the table that 256-colour terminals share, from 16 on.
func xterm256(n int) [3]float64 {
	if n >= 232 {
		grey := float64(8 + 10*(n-232))
		return [3]float64{grey, grey, grey}
	}
	level := func(i int) float64 { return []float64{0, 95, 135, 175, 215, 255}[i] }
	n -= 16
	return [3]float64{level(n / 36), level(n / 6 % 6), level(n % 6)}
}

// luminance and contrast are those of WCAG 2.
func luminance(c [3]float64) float64 {
	var out float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		out += weight * v
	}
	return out
}

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The colours of the fixed themes can be read, on backgrounds as terminals have
// them.
func TestContrast(t *testing.T) {
	for name, grounds := range map[string][][3]float64{
		"light": {{255, 255, 255}, {250, 250, 250}},
		"dark":  {{0, 0, 0}, {30, 30, 30}},
	} {
		theme := NewTheme(name, false)
		for r := role(0); r < roles; r++ {
			_, number, is := strings.Cut(theme.sgr[r], "38;5;")
			if !is {
				continue // the terminal's own colour of text
			}
			n, err := strconv.Atoi(number)
			if err != nil || n < 16 {
				t.Errorf("%s: %q is no colour of the fixed table", name, theme.sgr[r])
				continue
			}
			for _, ground := range grounds {
				if c := contrast(xterm256(n), ground); c < 4.5 {
					t.Errorf("%s: colour %d stands out from %v by %.2f only", name, n, ground, c)
				}
			}
		}
	}
}

// The words are there without the colours: frames of all themes are the same,
// but for what colours them.
func TestColoursAreBesideTheWords(t *testing.T) {
	memory := regexp.MustCompile("memory of this process .*")
	for _, session := range []string{"envoy-sotw-nack", "grpc-go-nack"} {
		for _, key := range []string{"1", "2", "3", "4", "5", "?"} {
			var mono string
			for _, name := range append([]string{"mono"}, Themes()...) {
				d := drive(t, fileSource(sessionPath(session)), 120, 35, Options{Theme: name})
				d.m.stats.measure = func() uint64 { return 1 << 20 }
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
	}{{"", white, "light"}, {"auto", white, "light"}, {"auto", black, "auto"}, {"dark", white, "dark"}, {"mono", white, "mono"}, {"light", black, "light"}} {
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: c.theme})
		d.give(c.msg)
		like := NewTheme(c.like, false)
		if d.m.theme.sgr != like.sgr {
			t.Errorf("%q on %v is not like %s", c.theme, c.msg.Color, c.like)
		}
	}
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.give(white)
	if _, err := d.m.setTheme("auto"); err != nil {
		t.Fatal(err)
	}
	if like := NewTheme("light", false); d.m.theme.sgr != like.sgr {
		t.Error("a theme that is chosen later forgets the background")
	}
}

func TestColourProfile(t *testing.T) {
	for _, c := range []struct {
		color string
		env   string
		want  string
	}{
		{"auto", "TERM=xterm-256color", "found out"},
		{"auto", "TERM=xterm-256color NO_COLOR=yes", "Ascii"},
		{"auto", "TERM=xterm-256color NO_COLOR=", "found out"},
		{"auto", "TERM=xterm-256color NO_COLOR=1 CLICOLOR_FORCE=1", "ANSI256"},
		{"auto", "TERM=dumb CLICOLOR_FORCE=1", "ANSI"},
		{"auto", "TERM=xterm CLICOLOR_FORCE=0", "found out"},
		{"always", "TERM=xterm-256color NO_COLOR=1", "ANSI256"},
		{"always", "TERM=dumb", "ANSI"},
		{"never", "TERM=xterm-256color CLICOLOR_FORCE=1", "Ascii"},
		{"", "COLORTERM=truecolor TERM=xterm", "found out"},
		{"always", "COLORTERM=truecolor TERM=xterm", "TrueColor"},
	} {
		got := "found out"
		if p, is := profileFor(c.color, strings.Fields(c.env)); is {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("--color %s with %s: %s, not %s", c.color, c.env, got, c.want)
		}
	}
}

func TestASCII(t *testing.T) {
	for _, name := range []string{"envoy-sotw-nack", "grpc-go-nack"} {
		d := drive(t, fileSource(sessionPath(name)), 160, 50, Options{Theme: "mono", ASCII: true})
		for _, key := range []string{"1", "space", "2", "3", "4", "5", "?", "E"} {
			d.press(key)
			for _, c := range d.frame() {
				if strings.ContainsRune(fmt.Sprint(NewTheme("mono", false).glyph), c) && c > 0x7f {
					t.Errorf("%s %s: %q is on the screen", name, key, c)
					break
				}
			}
		}
	}
}
