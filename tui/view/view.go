// Package view is what views have in common: what one is, what it may ask of the
// screen, and the words and signs that several of them draw. It draws none itself.
package view

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is one screen, or one pane of it. Its methods are called in the loop of
// the program, so none may wait: what takes time is done by a command, whose
// message comes back to Handle.
type View interface {
	Title() string
	// Keys are the actions of the view, the most useful ones first; those of
	// global need not be among them.
	Keys() []key.Offer
	// Do performs one of them.
	Do(scr Screen, a key.Action) tea.Cmd
	// Draw fills w columns and at most h rows. It changes nothing but what it
	// keeps about its own size.
	Draw(scr Screen, w, h int) []widget.Line
	// Where is the place in the view, for the status line.
	Where(scr Screen) string
	// About is what there is to say of what is selected, for the message line.
	About(scr Screen) widget.Line
	// Tick is called when there may be more to see. It may ask for it.
	Tick(scr Screen) tea.Cmd
	// Handle takes the message of a command of this view.
	Handle(scr Screen, msg any) tea.Cmd
	// Click selects what is at a place in the body; twice opens it.
	Click(scr Screen, x, y int, twice bool) tea.Cmd
}

// Filterable is a view whose rows can be filtered, or whose text searched.
type Filterable interface {
	// Query is what is set, "" if nothing.
	Query() string
	// Ask sets another one; an error leaves the old one.
	Ask(scr Screen, text string) (tea.Cmd, error)
	// Language says what the prompt expects.
	Language() PromptKind
}

// Previewed is a Filterable that can say beforehand what a filter would show.
type Previewed interface {
	Filterable
	// Preview is how many rows a filter would show and hide, "" if that is not
	// known. What takes time is done by the command; its message comes to
	// Handle, and then it is asked again.
	Preview(scr Screen, text string) (said string, cmd tea.Cmd)
}

// Subject is a view where something is selected that other views can be about.
type Subject interface {
	// Selected is the client and the entry that are selected; "" and 0 if none
	// is.
	Selected(scr Screen) Selection
}

// Plain is what a view does that does nothing.
type Plain struct{}

func (Plain) Do(Screen, key.Action) tea.Cmd        { return nil }
func (Plain) Where(Screen) string                  { return "" }
func (Plain) About(Screen) widget.Line             { return widget.Line{} }
func (Plain) Tick(Screen) tea.Cmd                  { return nil }
func (Plain) Handle(Screen, any) tea.Cmd           { return nil }
func (Plain) Click(Screen, int, int, bool) tea.Cmd { return nil }

// Reply is the message of a command that a view has started.
type Reply struct {
	To  View
	Msg any
}

// Answer makes the command of a view: f runs beside the loop.
func Answer(to View, f func() any) tea.Cmd {
	return func() tea.Msg { return Reply{to, f()} }
}

// Page is a view that is a sheet.
type Page struct {
	Plain
	widget.Sheet
}

// Do moves, or asks for words; false if the action is another one.
func (v *Page) Do(scr Screen, a key.Action, all []widget.Paragraph) (tea.Cmd, bool) {
	if a == key.Filter {
		return scr.Prompt(RowFilter, v.Words), true
	}
	return nil, v.Sheet.Do(a, all)
}

func (v *Page) Query() string        { return v.Words }
func (v *Page) Language() PromptKind { return RowFilter }

func (v *Page) Ask(_ Screen, text string) (tea.Cmd, error) {
	v.Find(text)
	return nil, nil
}

// Said is a message of a command for the message line.
type Said struct {
	Role widget.Role
	Text string
}

// Screen is what a view may ask of the screen that shows it, in the loop of the
// program only. What runs beside the loop takes values, of the Log above all, and
// brings messages.
type Screen interface {
	// Log is what is shown, Seen what the checker knew of it a moment ago.
	Log() *Log
	Seen() *Seen
	Now() time.Time

	Theme() *widget.Theme
	Aliases() *alias.Table
	Width() int   // of the screen
	Columns() int // of the pane that has the most of it
	// Choice is what was chosen of the columns of a view, by its title.
	Choice(view string) *chosen.List

	// Say and Complain use the message line, Prompt takes its place until
	// something is typed. Copy fills the clipboard; nil: it did not.
	Say(format string, args ...any)
	Complain(err error)
	Prompt(kind PromptKind, value string) tea.Cmd
	// Narrow asks which of some terms is to be added to a filter, or its
	// opposite: to that of the timeline, or to the words of the view on top.
	Narrow(kind PromptKind, terms []string, not bool) tea.Cmd
	Copy(text, what string) tea.Cmd

	// Act does what an action does with what is selected, where that leads out
	// of the view.
	Act(a key.Action, s Selection) tea.Cmd
	// Timeline shows the entries that a filter takes, from one on if that is
	// not 0; Follow selects an entry there, if it has a line.
	Timeline(filter string, from session.Seq) tea.Cmd
	Follow(seq session.Seq)

	// Push opens a view above the others, Pop takes one away.
	Push(v View)
	Pop(v View)
	IsOpen(v View) bool
	Top() View
}

// PromptKind is what is being typed.
type PromptKind uint8

const (
	EntryFilter PromptKind = iota // the language of package filter
	RowFilter                     // words that a row must have
	TextSearch                    // words that a line must have
	CommandPrompt
	NotePrompt
	ExportPrompt // the path of a file
)

// Noun is what the status line calls it.
func (k PromptKind) Noun() string {
	if k == TextSearch {
		return "search"
	}
	return "filter"
}

func (k PromptKind) Sign() string {
	switch k {
	case CommandPrompt:
		return ":"
	case NotePrompt:
		return ";"
	case ExportPrompt:
		return "file: "
	}
	return "/"
}
