package terminal

import (
	"strings"
	"testing"
)

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

type options struct {
	Color string
	ASCII bool
}

func TestWhichTerminalsKnowLinks(t *testing.T) {
	for _, c := range []struct {
		env  string
		o    options
		want bool
	}{
		{"TERM=xterm-kitty", options{}, true},
		{"TERM=foot", options{}, true},
		{"TERM=alacritty-direct", options{}, true},
		{"TERM=xterm-256color VTE_VERSION=6800", options{}, true},
		{"TERM=xterm-256color VTE_VERSION=4800", options{}, false},
		{"TERM=xterm-256color TERM_PROGRAM=iTerm.app", options{}, true},
		{"TERM=xterm-256color TERM_PROGRAM=Apple_Terminal", options{}, false},
		{"TERM=xterm-256color WT_SESSION=1", options{}, true},
		{"TERM=xterm-256color", options{}, false},
		{"TERM=tmux-256color VTE_VERSION=6800", options{}, false},
		{"TERM=xterm-256color VTE_VERSION=6800 TMUX=/tmp/x", options{}, false},
		{"TERM=tmux-256color FORCE_HYPERLINK=1", options{}, true},
		{"TERM=xterm-kitty FORCE_HYPERLINK=0", options{}, false},
		{"TERM=xterm-kitty NO_COLOR=1", options{}, false},
		{"TERM=xterm-kitty NO_COLOR=1 FORCE_HYPERLINK=1", options{}, false},
		{"TERM=xterm-kitty NO_COLOR=1", options{Color: "always"}, true},
		{"TERM=xterm-kitty", options{Color: "never"}, false},
		{"TERM=xterm-kitty", options{ASCII: true}, false},
		{"TERM=dumb FORCE_HYPERLINK=1", options{}, false},
		{"VTE_VERSION=6800", options{}, false},
	} {
		if got := KnowsLinks(c.o.Color, c.o.ASCII, strings.Fields(c.env)); got != c.want {
			t.Errorf("%s, %+v: %v", c.env, c.o, got)
		}
	}
}
