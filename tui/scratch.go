package tui

import (
	"iter"
	"maps"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
func repeat(s string, n int) string                     { return strings.Repeat(s, max(n, 0)) }

func (m *Model) end() session.Seq { return m.last }
