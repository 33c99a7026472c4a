package render

// Style colours words by their role, with the sixteen colours of the terminal.
// No meaning is carried by colour alone. The zero Style adds nothing.
type Style struct{ Color bool }

// role is what a colour stands for.
type role string

const (
	plain  role = ""
	title  role = "1"
	muted  role = "2"
	good   role = "32"
	bad    role = "1;31"
	warned role = "33"
	accent role = "36"
)

func (s Style) paint(r role, text string) string {
	if !s.Color || r == plain || text == "" {
		return text
	}
	return "\x1b[" + string(r) + "m" + text + "\x1b[0m"
}

// What the rooms of this package colour words with.

func (s Style) Title(text string) string  { return s.paint(title, text) }
func (s Style) Muted(text string) string  { return s.paint(muted, text) }
func (s Style) Good(text string) string   { return s.paint(good, text) }
func (s Style) Bad(text string) string    { return s.paint(bad, text) }
func (s Style) Warned(text string) string { return s.paint(warned, text) }
func (s Style) Accent(text string) string { return s.paint(accent, text) }
