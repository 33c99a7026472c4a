package resources

import (
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const effectTitle = "EFFECT"

// told says whether any client says what it uses.
func (v *View) told() bool { return v.Forest != nil && v.Forest.effects != nil }

// effectOf is how far the client got with a resource; nothing if nobody says so.
func (v *View) effectOf(n *engine.Node) effect.Effect {
	return v.Forest.effects[[2]string{n.Type, n.Name}]
}

func effectRole(e *effect.Effect) widget.Role {
	switch e.State.Answer() {
	case "yes":
		return widget.Good
	case "no":
		return widget.Warned
	}
	return widget.Muted
}

// aboutEffect adds to what is said of a resource whether the client uses it.
func (v *View) aboutEffect(scr view.Screen, l *widget.Line, n *engine.Node) {
	if !v.told() || n.State == engine.Missing || n.State == engine.NotOverXDS {
		return
	}
	e := v.effectOf(n)
	l.Add(effectRole(&e), "; "+scr.Aliases().Text(render.EffectReason(&e)))
}
