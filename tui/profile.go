package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// profileOption says how many colours the terminal has. What the person asked
// for comes first, then NO_COLOR and CLICOLOR_FORCE, by the letter: they count
// unless they are empty, and the latter unless it is 0. The rest is found out.
func profileOption(color string, environ []string) []tea.ProgramOption {
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
		return []tea.ProgramOption{tea.WithColorProfile(colorprofile.ASCII)}
	case color == "always", forced != "" && forced != "0":
		colourful := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
		return []tea.ProgramOption{tea.WithColorProfile(max(colorprofile.Env(colourful), colorprofile.ANSI))}
	case env("NO_COLOR") != "":
		return []tea.ProgramOption{tea.WithColorProfile(colorprofile.ASCII)}
	}
	return nil
}
