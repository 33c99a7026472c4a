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
