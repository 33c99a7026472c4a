// Package terminal is what a terminal is capable of, as far as its environment
// tells. It writes nothing to one.
package terminal

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// ColorOption tells the program how many colours the terminal has, if that is
// not for it to find out.
func ColorOption(color string, environ []string) []tea.ProgramOption {
	if p, is := profileFor(color, environ); is {
		return []tea.ProgramOption{tea.WithColorProfile(p)}
	}
	return nil
}

// profileFor says how many colours there are to be. What the person asked for
// comes first, then CLICOLOR_FORCE and NO_COLOR, by the letter: they count
// unless they are empty, and the former unless it is 0. Else it is false.
func profileFor(color string, environ []string) (colorprofile.Profile, bool) {
	env := func(name string) string { return lookUp(environ, name) }
	forced := env("CLICOLOR_FORCE")
	switch {
	case color == "never":
		return colorprofile.ASCII, true
	case color == "always", forced != "" && forced != "0":
		colourful := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
		return max(colorprofile.Env(colourful), colorprofile.ANSI), true
	case env("NO_COLOR") != "":
		return colorprofile.ASCII, true
	}
	return 0, false
}

func lookUp(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if v, is := strings.CutPrefix(kv, name+"="); is {
			return v
		}
	}
	return ""
}

// KnowsLinks says whether the terminal shows links (OSC 8). There is no way to ask
// it, so it is known by its name. What stands between, as tmux does, may take
// links away or not: there it is for the person to say, by FORCE_HYPERLINK.
func KnowsLinks(color string, ascii bool, environ []string) bool {
	env := func(name string) string { return lookUp(environ, name) }
	atLeast := func(name string, least int) bool {
		n, err := strconv.Atoi(env(name))
		return err == nil && n >= least
	}
	term, forced := env("TERM"), env("FORCE_HYPERLINK")
	switch {
	case ascii, color == "never", color != "always" && env("NO_COLOR") != "", term == "dumb", term == "":
		return false
	case forced != "":
		return forced != "0"
	case env("TMUX") != "", env("STY") != "", strings.HasPrefix(term, "screen"), strings.HasPrefix(term, "tmux"), term == "linux":
		return false
	case env("WT_SESSION") != "", atLeast("VTE_VERSION", 5000), atLeast("KONSOLE_VERSION", 201200):
		return true
	case slices.Contains([]string{"iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "mintty"}, env("TERM_PROGRAM")):
		return true
	}
	for _, known := range []string{"xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour"} {
		if term == known || strings.HasPrefix(term, known+"-") {
			return true
		}
	}
	return false
}
