package tui

// role is what a text is, for the colour beside it.
type role uint8

const (
	plain role = iota
	title
	muted
	good
	warned
	bad
	accent
	roles

	// chosen is added to the role of a span that is selected.
	chosen role = 1 << 7
)

// Theme is how roles look, and with which signs frames are drawn. No theme
// carries a meaning that the words do not.
type Theme struct {
	Name  string
	sgr   [roles]string // parameters of the SGR sequence; "" for none
	glyph glyphs
}

type glyphs struct {
	line, bar, cross, tee, join, branch, last, trunk, right, left, both, times, spark string
}

// suit fits the theme auto to the background of the terminal. On a light one,
// yellow, green and cyan of most terminals cannot be read, and its colours are
// those of the theme light. Other themes stay as they are.
func (t *Theme) suit(light bool) {
	if t.Name != "auto" && t.Name != "" {
		return
	}
	name := "auto"
	if light {
		name = "light"
	}
	of := NewTheme(name, false)
	t.sgr = of.sgr
}

// Themes are the names that NewTheme takes.
func Themes() []string { return []string{"auto", "light", "dark", "mono"} }

// NewTheme returns a theme by its name. auto is the terminal's own sixteen
// colours; light and dark are fixed ones, which stand out from white and from
// black by at least 4.5 to 1.
func NewTheme(name string, ascii bool) Theme {
	t := Theme{Name: name}
	switch name {
	case "mono":
		t.sgr = [roles]string{title: "1", bad: "1"}
	case "light":
		t.sgr = [roles]string{title: "1", muted: "38;5;241", good: "38;5;22", warned: "38;5;94", bad: "1;38;5;124", accent: "38;5;24"}
	case "dark":
		t.sgr = [roles]string{title: "1", muted: "38;5;246", good: "38;5;114", warned: "38;5;221", bad: "1;38;5;210", accent: "38;5;117"}
	default:
		t.sgr = [roles]string{title: "1", muted: "2", good: "32", warned: "33", bad: "1;31", accent: "36"}
	}
	t.glyph = glyphs{"─", "│", "┼", "┬", "┤", "├─ ", "└─ ", "│  ", "→", "←", "↔", "×", "▁▂▃▄▅▆▇█"}
	if ascii {
		t.glyph = glyphs{"-", "|", "+", "+", "+", "|- ", "`- ", "|  ", ">", "<", "<>", "x", "_.-=*#%@"}
	}
	return t
}

const (
	reset   = "\x1b[0m"
	reverse = "7"
)

func (t *Theme) paint(r role, selected bool, text string) string {
	p := t.sgr[r&^chosen]
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
