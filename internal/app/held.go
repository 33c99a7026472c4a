package app

import (
	"strings"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/held"
)

// asking is how clients are asked what they hold; nil: none is.
type asking struct{ keeper *held.Keeper }

// askHeld begins to ask the clients that the settings name, and those that were
// found.
func (s *Assembly) askHeld(found []held.Place) (*asking, error) {
	o, err := s.Settings.Held(found...)
	if o == nil || err != nil {
		return nil, err
	}
	o.Append, o.Said = s.Log.Append, s.saidOfHeld
	o.Log = func() (lost, segment uint64) {
		stats := s.Log.Stats()
		if s.Log.Path() == "" { // in memory, what is old makes room for what passes
			stats.Segment = 0
		}
		return stats.Lost, stats.Segment
	}
	return &asking{held.Start(*o)}, nil
}

// saidOfHeld tells people of a client that is asked.
func (h *Host) saidOfHeld(n *held.News) {
	fields := []zap.Field{zap.String("source", string(n.Place.Source)), zap.String("address", n.Place.String())}
	if n.Node != "" {
		fields = append(fields, zap.String("client", n.Node))
	}
	switch {
	case n.Fault != "":
		if n.Hint != "" {
			fields = append(fields, zap.String("hint", n.Hint))
		}
		h.Logger.Warn("cannot ask a client what it holds: "+n.Fault, fields...)
	case len(n.Notes) > 0:
		h.Logger.Info("of what a client holds, this cannot be read: "+strings.Join(n.Notes, "; "), fields...)
	default:
		h.Logger.Info("a client says what it holds", fields...)
	}
}

// step looks at what an entry of the log means: a client that has answered may hold
// something else from then on.
func (k *asking) step(c *check.Change) {
	if k != nil && (c.What == engine.ACK || c.What == engine.NACK) {
		k.keeper.Wake(c.Client)
	}
}

// wake says that files have changed, which any of the clients may read.
func (k *asking) wake() {
	if k != nil {
		k.keeper.WakeAll()
	}
}

// counter tells metrics; nil if there is nothing to tell.
func (k *asking) counter() func() admin.Held {
	if k == nil {
		return nil
	}
	return func() admin.Held {
		n := k.keeper.Stats()
		return admin.Held{Asked: n.Asked, Failed: n.Failed}
	}
}

func (k *asking) close() {
	if k != nil {
		k.keeper.Close()
	}
}
