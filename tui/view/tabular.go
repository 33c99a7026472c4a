package view

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// Tabular is a view whose columns can be chosen.
type Tabular interface {
	View
	// Columns are its columns as it has drawn them.
	Columns(scr Screen) []chosen.Column
	// SortBy sorts by the column with a title; false if it does not.
	SortBy(scr Screen, title string) (tea.Cmd, bool)
}

// Resize makes a column of a view narrower or wider.
func Resize(scr Screen, v Tabular, title string, a key.Action) tea.Cmd {
	by := 2
	if a == key.Narrower {
		by = -2
	}
	for _, c := range v.Columns(scr) {
		if c.Title == title && c.Width > 0 {
			scr.Choice(v.Title()).Resize(title, c.Width, by)
			return nil
		}
	}
	scr.Say("the column %s is not shown here", title)
	return nil
}
