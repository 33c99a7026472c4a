package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// view is one screen, or one pane of it. Its methods are called in the loop of
// the program, so none may wait: what takes time is done by a command, whose
// message comes back to handle.
type view interface {
	title() string
	// keys are the actions of the view, the most useful ones first; those of
	// global need not be among them.
	keys() []key.Offer
	// do performs one of them.
	do(m *Model, a key.Action) tea.Cmd
	// draw fills w columns and at most h rows. It changes nothing but what it
	// keeps about its own size.
	draw(m *Model, w, h int) []widget.Line
	// where is the place in the view, for the status line.
	where(m *Model) string
	// about is what there is to say of what is selected, for the message line.
	about(m *Model) widget.Line
	// tick is called when there may be more to see. It may ask for it.
	tick(m *Model) tea.Cmd
	// handle takes the message of a command of this view.
	handle(m *Model, msg any) tea.Cmd
	// click selects what is at a place in the body; twice opens it.
	click(m *Model, x, y int, twice bool) tea.Cmd
}

// filterable is a view whose rows can be filtered, or whose text searched.
type filterable interface {
	// query is what is set, "" if nothing.
	query() string
	// ask sets another one; an error leaves the old one.
	ask(m *Model, text string) (tea.Cmd, error)
	// language says what the prompt expects.
	language() promptKind
}

// subject is a view where something is selected that other views can be about.
type subject interface {
	// selected is the client and the entry that are selected; "" and 0 if none
	// is.
	selected(m *Model) selection
}

// plainView is what a view does that does nothing.
type plainView struct{}

func (plainView) do(*Model, key.Action) tea.Cmd        { return nil }
func (plainView) where(*Model) string                  { return "" }
func (plainView) about(*Model) widget.Line             { return widget.Line{} }
func (plainView) tick(*Model) tea.Cmd                  { return nil }
func (plainView) handle(*Model, any) tea.Cmd           { return nil }
func (plainView) click(*Model, int, int, bool) tea.Cmd { return nil }

// reply is the message of a command that a view has started.
type reply struct {
	to  view
	msg any
}

// answer makes the command of a view: f runs beside the loop.
func answer(to view, f func() any) tea.Cmd {
	return func() tea.Msg { return reply{to, f()} }
}

// sheetView is a view that is a sheet.
type sheetView struct {
	plainView
	widget.Sheet
}

// do moves, or asks for words; false if the action is another one.
func (v *sheetView) do(m *Model, a key.Action, all []widget.Paragraph) (tea.Cmd, bool) {
	if a == key.Filter {
		return m.open(rowFilter, v.Words), true
	}
	return nil, v.Sheet.Do(a, all)
}

func (v *sheetView) query() string        { return v.Words }
func (v *sheetView) language() promptKind { return rowFilter }

func (v *sheetView) ask(_ *Model, text string) (tea.Cmd, error) {
	v.Find(text)
	return nil, nil
}

// viewLog is the log that is shown. Any goroutine may use it.
type viewLog struct {
	Context context.Context // of everything that is done beside the loop
	Source  Source
	Index   *index.Index
	Feed    *index.Feed
	Fetch   *index.Fetcher
	// Last is the last entry when it was opened, 0 if that is not known.
	Last session.Seq
}
