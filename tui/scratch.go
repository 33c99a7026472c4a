package tui

import (
	"errors"
	"iter"
	"maps"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
func repeat(s string, n int) string                     { return strings.Repeat(s, max(n, 0)) }

func (m *Model) nextViolation() tea.Cmd          { return nil }
func (m *Model) openResources(string) tea.Cmd    { return nil }
func (m *Model) explain(string) (tea.Cmd, error) { return nil, errors.New("not yet") }
func (m *Model) paneWidth() int                  { return m.w }
func (m *Model) panes(rows int) []line           { return m.top().draw(m, m.w, rows) }
func (m *Model) end() session.Seq                { return m.last }

type dummy struct {
	plainView
	name string
}

func (d dummy) title() string                { return d.name }
func (d dummy) draw(*Model, int, int) []line { return nil }
func newResources() view                     { return dummy{name: "Resources"} }
func newViolations() view                    { return dummy{name: "Violations"} }
func newStats() view                         { return dummy{name: "Stats"} }
