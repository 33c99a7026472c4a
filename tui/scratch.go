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

type aliases struct{}

func (m *Model) alias(s string) string     { return s }
func (m *Model) aliasText(s string) string { return s }
func (m *Model) togglePrivacy()            {}
func (m *Model) isMarked(session.Seq) bool { return false }
func (m *Model) mark(session.Seq)          {}
func (m *Model) marksDo(action) tea.Cmd    { return nil }
func (m *Model) writeNote(string) tea.Cmd  { return nil }
func (m *Model) screenText() string        { return "" }
func (m *Model) copy(text, what string) tea.Cmd {
	m.say("copied %s", what)
	return tea.SetClipboard(text)
}
func (m *Model) copyAs(session.Seq) tea.Cmd       { return nil }
func (m *Model) export() tea.Cmd                  { return nil }
func (m *Model) mouse(tea.MouseMsg) tea.Cmd       { return nil }
func (m *Model) nextViolation() tea.Cmd           { return nil }
func (m *Model) openDiff(selection, bool) tea.Cmd { return nil }
func (m *Model) openLadder(selection) tea.Cmd     { return nil }
func (m *Model) openResources(string) tea.Cmd     { return nil }
func (m *Model) explain(string) (tea.Cmd, error)  { return nil, errors.New("not yet") }
func (m *Model) paneWidth() int                   { return m.w }
func (m *Model) panes(rows int) []line            { return m.top().draw(m, m.w, rows) }
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
func newResources() view                     { return dummy{name: "Resources"} }
func newViolations() view                    { return dummy{name: "Violations"} }
func newStats() view                         { return dummy{name: "Stats"} }
func newHelp(view) view                      { return dummy{name: "Help"} }
func newEventLog() view                      { return dummy{name: "Events"} }
func newBootstrap(*Model) view               { return dummy{name: "Bootstrap"} }
func newDetail(*Model, session.Seq) view     { return dummy{name: "Message"} }
