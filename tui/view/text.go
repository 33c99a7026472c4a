package view

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Text is a view of a text that can be searched, and taken to the pager.
type Text struct {
	Plain
	Pane widget.TextPane
}

func (v *Text) Query() string        { return v.Pane.Text }
func (v *Text) Language() PromptKind { return TextSearch }

func (v *Text) Ask(_ Screen, text string) (tea.Cmd, error) {
	v.Pane.Search(text)
	if text != "" && len(v.Pane.Found) == 0 {
		return nil, errors.New("no line has that")
	}
	return nil, nil
}

// HandlePager takes the messages of the pager for a view.
func (v *Text) HandlePager(scr Screen, to View, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case PagerText:
		return ToPager(scr, to, msg)
	case PagerReady:
		return msg.run(to)
	case PagerDone:
		msg.tell(scr)
	}
	return nil
}
