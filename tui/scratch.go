package tui

import (
	"iter"
	"maps"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
func repeat(s string, n int) string                     { return strings.Repeat(s, max(n, 0)) }

type aliases struct{}

func (m *Model) alias(s string) string      { return s }
func (m *Model) aliasText(s string) string  { return s }
func (m *Model) togglePrivacy()             {}
func (m *Model) isMarked(session.Seq) bool  { return false }
func (m *Model) mark(session.Seq)           {}
func (m *Model) marksDo(action) tea.Cmd     { return nil }
func (m *Model) writeNote(string) tea.Cmd   { return nil }
func (m *Model) export() tea.Cmd            { return nil }
func (m *Model) mouse(tea.MouseMsg) tea.Cmd { return nil }
func (m *Model) banner() (line, bool) {
	if err := m.feed.Err(); err != nil {
		return text(bad, " "+err.Error()), true
	}
	return line{}, false
}
func (m *Model) end() session.Seq { return m.last }
func (t *Theme) suit(bool)        {}

type dummy struct {
	plainView
	name string
}

func (d dummy) title() string                { return d.name }
func (d dummy) draw(*Model, int, int) []line { return nil }
func newHelp(view) view                      { return dummy{name: "Help"} }
func newEventLog() view                      { return dummy{name: "Events"} }
func newBootstrap(*Model) view               { return dummy{name: "Bootstrap"} }
