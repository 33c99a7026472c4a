package widget

import "strings"

// Role is what a text is, for the colour beside it.
type Role uint8

const (
	Plain Role = iota
	Title
	Muted
	Good
	Warned
	Bad
	Accent
	roles

	// chosen is added to the role of a span that is selected.
	chosen Role = 1 << 7
	// linked is added to that of the id of a rule, which leads to its page.
	linked Role = 1 << 6
)

// Theme is how roles look, and with which signs frames are drawn. No theme
// carries a meaning that the words do not.
type Theme struct {
	Name  string
	ASCII bool
	SGR   [roles]string // parameters of the SGR sequence; "" for none
	Glyph glyphs
	Links bool // the terminal knows links (OSC 8)
}

type glyphs struct {
	Line, Bar, Cross, Tee, Join, Branch, Last, Trunk, Right, Left, both, Times, Spark string
}

// Suit fits the theme auto to the background of the terminal. On a light one,
// yellow, green and cyan of most terminals cannot be read, and its colours are
// those of the theme light. The theme colorblind has colours for both. Other themes
// stay as they are.
func (t *Theme) Suit(light bool) {
	name := t.Name
	switch {
	case name == "auto" || name == "":
		if name = "auto"; light {
			name = "light"
		}
	case name == "colorblind" && light:
		name = lightColorblind
	}
	of := NewTheme(name, false)
	t.SGR = of.SGR
}

// lightColorblind is the theme colorblind on a light background.
const lightColorblind = "colorblind on light"

// Themes are the names that NewTheme takes.
func Themes() []string { return []string{"auto", "light", "dark", "colorblind", "mono"} }

// NewTheme returns a theme by its name. auto is the terminal's own sixteen
// colours; light and dark are fixed ones, which stand out from white and from
// black by at least 4.5 to 1. colorblind is as dark, with blue for what is well and
// orange for what is not, which people tell apart who do not tell green from red.
func NewTheme(name string, ascii bool) Theme {
	t := Theme{Name: name, ASCII: ascii}
	switch name {
	case "mono":
		t.SGR = [roles]string{Title: "1", Bad: "1"}
	case "light":
		t.SGR = [roles]string{Title: "1", Muted: "38;5;241", Good: "38;5;22", Warned: "38;5;94", Bad: "1;38;5;124", Accent: "38;5;24"}
	case "dark":
		t.SGR = [roles]string{Title: "1", Muted: "38;5;246", Good: "38;5;114", Warned: "38;5;221", Bad: "1;38;5;210", Accent: "38;5;117"}
	case "colorblind":
		t.SGR = [roles]string{Title: "1", Muted: "38;5;246", Good: "38;5;75", Warned: "38;5;229", Bad: "1;38;5;208", Accent: "38;5;183"}
	case lightColorblind:
		t.SGR = [roles]string{Title: "1", Muted: "38;5;241", Good: "38;5;25", Warned: "38;5;58", Bad: "1;38;5;130", Accent: "38;5;54"}
	default:
		t.SGR = [roles]string{Title: "1", Muted: "2", Good: "32", Warned: "33", Bad: "1;31", Accent: "36"}
	}
	t.Glyph = glyphs{"─", "│", "┼", "┬", "┤", "├─ ", "└─ ", "│  ", "→", "←", "↔", "×", "▁▂▃▄▅▆▇█"}
	if ascii {
		t.Glyph = glyphs{"-", "|", "+", "+", "+", "|- ", "`- ", "|  ", ">", "<", "<>", "x", "_.-=*#%@"}
	}
	return t
}

const (
	reset   = "\x1b[0m"
	reverse = "7"
)

// ToRule is the role of the id of a rule: where the terminal can, it is a link to
// the page of that rule.
func ToRule(r Role) Role { return r | linked }

// rulePages is where the rules are explained; the id of one follows.
const rulePages = "https://github.com/xdsproxy/xdsproxy/blob/main/docs/rules.md#"

// link makes a link of the id of a rule. What is not all of an id stays as it is:
// nothing else gets into an address.
func (t *Theme) link(painted, text string) string {
	id := strings.TrimRight(text, " ")
	if !t.Links || id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return painted
	}
	return "\x1b]8;;" + rulePages + id + "\x1b\\" + painted + "\x1b]8;;\x1b\\"
}

func (t *Theme) paint(r Role, selected bool, text string) string {
	if r&linked != 0 {
		return t.link(t.paint(r&^linked, selected, text), text)
	}
	p := t.SGR[r&^chosen]
	if selected || r&chosen != 0 {
		if p != "" {
			p = ";" + p
		}
		p = reverse + p
	}
	if p == "" || text == "" {
		return text
	}
	return "\x1b[" + p + "m" + text + reset
}
