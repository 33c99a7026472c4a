package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
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
	do(scr Screen, a key.Action) tea.Cmd
	// draw fills w columns and at most h rows. It changes nothing but what it
	// keeps about its own size.
	draw(scr Screen, w, h int) []widget.Line
	// where is the place in the view, for the status line.
	where(scr Screen) string
	// about is what there is to say of what is selected, for the message line.
	about(scr Screen) widget.Line
	// tick is called when there may be more to see. It may ask for it.
	tick(scr Screen) tea.Cmd
	// handle takes the message of a command of this view.
	handle(scr Screen, msg any) tea.Cmd
	// click selects what is at a place in the body; twice opens it.
	click(scr Screen, x, y int, twice bool) tea.Cmd
}

// filterable is a view whose rows can be filtered, or whose text searched.
type filterable interface {
	// query is what is set, "" if nothing.
	query() string
	// ask sets another one; an error leaves the old one.
	ask(scr Screen, text string) (tea.Cmd, error)
	// language says what the prompt expects.
	language() promptKind
}

// subject is a view where something is selected that other views can be about.
type subject interface {
	// selected is the client and the entry that are selected; "" and 0 if none
	// is.
	selected(scr Screen) selection
}

// plainView is what a view does that does nothing.
type plainView struct{}

func (plainView) do(Screen, key.Action) tea.Cmd        { return nil }
func (plainView) where(Screen) string                  { return "" }
func (plainView) about(Screen) widget.Line             { return widget.Line{} }
func (plainView) tick(Screen) tea.Cmd                  { return nil }
func (plainView) handle(Screen, any) tea.Cmd           { return nil }
func (plainView) click(Screen, int, int, bool) tea.Cmd { return nil }

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
func (v *sheetView) do(scr Screen, a key.Action, all []widget.Paragraph) (tea.Cmd, bool) {
	if a == key.Filter {
		return scr.Prompt(rowFilter, v.Words), true
	}
	return nil, v.Sheet.Do(a, all)
}

func (v *sheetView) query() string        { return v.Words }
func (v *sheetView) language() promptKind { return rowFilter }

func (v *sheetView) ask(_ Screen, text string) (tea.Cmd, error) {
	v.Find(text)
	return nil, nil
}

// said is a message of a command for the message line.
type said struct {
	role widget.Role
	text string
}

// Screen is what a view may ask of the screen that shows it, in the loop of the
// program only. What runs beside the loop takes values, of the Log above all, and
// brings messages.
type Screen interface {
	// Log is what is shown, Seen what the checker knew of it a moment ago.
	Log() *viewLog
	Seen() *snapshot
	Now() time.Time

	Theme() *widget.Theme
	Aliases() *alias.Table
	Width() int   // of the screen
	Columns() int // of the pane that has the most of it

	// Say and Complain use the message line, Prompt takes its place until
	// something is typed. Copy fills the clipboard; nil: it did not.
	Say(format string, args ...any)
	Complain(err error)
	Prompt(kind promptKind, value string) tea.Cmd
	Copy(text, what string) tea.Cmd

	// Act does what an action does with what is selected, where that leads out
	// of the view.
	Act(a key.Action, s selection) tea.Cmd
	// Timeline shows the entries that a filter takes, from one on if that is
	// not 0; Follow selects an entry there, if it has a line.
	Timeline(filter string, from session.Seq) tea.Cmd
	Follow(seq session.Seq)

	// Push opens a view above the others, Pop takes one away.
	Push(v view)
	Pop(v view)
	IsOpen(v view) bool
	Top() view
}

// promptKind is what is being typed.
type promptKind uint8

const (
	entryFilter promptKind = iota // the language of package filter
	rowFilter                     // words that a row must have
	textSearch                    // words that a line must have
	commandPrompt
	notePrompt
	exportPrompt // the path of a file
)

// noun is what the status line calls it.
func (k promptKind) noun() string {
	if k == textSearch {
		return "search"
	}
	return "filter"
}

func (k promptKind) sign() string {
	switch k {
	case commandPrompt:
		return ":"
	case notePrompt:
		return ";"
	case exportPrompt:
		return "file: "
	}
	return "/"
}
