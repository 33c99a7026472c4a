package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// profileOption tells the program how many colours the terminal has, if that is
// not for it to find out.
func profileOption(color string, environ []string) []tea.ProgramOption {
	if p, is := profileFor(color, environ); is {
		return []tea.ProgramOption{tea.WithColorProfile(p)}
	}
	return nil
}

// profileFor says how many colours there are to be. What the person asked for
// comes first, then CLICOLOR_FORCE and NO_COLOR, by the letter: they count
// unless they are empty, and the former unless it is 0. Else it is false.
func profileFor(color string, environ []string) (colorprofile.Profile, bool) {
	env := func(name string) string {
		for _, kv := range slices.Backward(environ) {
			if v, is := strings.CutPrefix(kv, name+"="); is {
				return v
			}
		}
		return ""
	}
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
