package clients

import (
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const (
	effectTitle = "EFFECT"
	effectWidth = 8
)

// effectCell is whether a client uses what it was sent.
func effectCell(scr view.Screen, client string) (string, widget.Role) {
	s := scr.Seen().Effects[client]
	text := render.EffectOf(&s)
	switch text {
	case "yes":
		return text, widget.Good
	case "-":
		return text, widget.Muted
	}
	return text, widget.Warned
}

// aboutEffect adds what a client does not use of a type, "" for any, or that all of
// it is in use.
func aboutEffect(scr view.Screen, l *widget.Line, client, typ string) {
	s, known := scr.Seen().Effects[client]
	switch {
	case !known:
		return
	case s.Unread != "":
		l.Add(widget.Muted, "; what it holds is not known: "+scr.Aliases().Text(s.Unread))
		return
	}
	for i := range s.Behind {
		if e := &s.Behind[i]; typ == "" || e.Type == typ {
			l.Add(widget.Warned, "; not in effect: "+e.Type+" "+scr.Aliases().Name(e.Name)+", "+scr.Aliases().Text(render.EffectReason(e)))
			return
		}
	}
	if typ != "" && s.Counts[typ].Answer() == "yes" {
		l.Add(widget.Good, "; in effect")
	}
}

// effectOf is how many resources of a type are in effect.
func effectOf(scr view.Screen, client, typ string) string {
	s, known := scr.Seen().Effects[client]
	if !known {
		return ""
	}
	n := s.Counts[typ]
	if n.Known == 0 {
		return ", in effect -"
	}
	return fmt.Sprintf(", in effect %s of %s", render.Number(int64(n.InEffect)), render.Number(int64(n.All)))
}
