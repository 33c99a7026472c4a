// Package viewtest has a screen for the tests of one view. It keeps what is said
// and leads nowhere; tests of what views do together are those of package tui.
package viewtest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Screen is a view.Screen of 80 columns, in plain letters.
type Screen struct {
	Said []string
	Over []view.View // those that are open, the uppermost last

	log     *view.Log
	seen    view.Seen
	theme   widget.Theme
	aliases alias.Table
	choices chosen.All
}

// New is a screen that has read nothing of a source yet.
func New(tb testing.TB, src source.Source) *Screen {
	x := index.New()
	s := &Screen{
		log:   &view.Log{Context: tb.Context(), Source: src, Index: x, Feed: index.NewFeed(x, check.Options{}), Fetch: index.NewFetcher(x, src.Open)},
		theme: widget.NewTheme("mono", true),
		seen:  view.Seen{Known: map[int]bool{}},
	}
	tb.Cleanup(s.log.Fetch.Close)
	return s
}

// Read reads all of the source.
func (s *Screen) Read(tb testing.TB) *Screen {
	tb.Helper()
	r, err := s.log.Open()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	s.log.Feed.Run(context.Background(), r, false, nil)
	s.seen.Generation = s.log.Index.Generation()
	s.seen.Standing, s.seen.At = s.log.Feed.Standing()
	s.seen.Names = view.NamesOf(s.seen.Standing, nil)
	s.seen.Effects = s.log.Feed.Effects(s.seen.Standing)
	s.seen.Findings = s.log.Feed.Findings()
	s.seen.Folded = check.Fold(s.seen.Findings)
	return s
}

func (s *Screen) Log() *view.Log                { return s.log }
func (s *Screen) Seen() *view.Seen              { return &s.seen }
func (s *Screen) Choice(of string) *chosen.List { return s.choices.Of(of) }

func (s *Screen) Now() time.Time         { return time.Unix(1_800_000_000, 0) }
func (s *Screen) Theme() *widget.Theme   { return &s.theme }
func (s *Screen) Aliases() *alias.Table  { return &s.aliases }
func (s *Screen) Width() int             { return 80 }
func (s *Screen) Columns() int           { return 80 }
func (s *Screen) Complain(err error)     { s.Said = append(s.Said, err.Error()) }
func (s *Screen) Push(v view.View)       { s.Over = append(s.Over, v) }
func (s *Screen) Say(f string, a ...any) { s.Said = append(s.Said, fmt.Sprintf(f, a...)) }

// What leads out of the view is said, and goes nowhere.

func (s *Screen) Follow(seq session.Seq) { s.Say("follow %d", seq) }

func (s *Screen) Prompt(k view.PromptKind, value string) tea.Cmd {
	s.Say("ask %d: %s%s", k, k.Sign(), value)
	return nil
}

func (s *Screen) Copy(text, what string) tea.Cmd {
	s.Say("copy %s: %.300q", what, text)
	return nil
}

func (s *Screen) Narrow(k view.PromptKind, terms []string, not bool) tea.Cmd {
	s.Say("narrow %d, not=%t: %q", k, not, terms)
	return nil
}

func (s *Screen) Timeline(filter string, from session.Seq) tea.Cmd {
	s.Say("timeline from %d: %s", from, filter)
	return nil
}

// Act closes what is on top, and does nothing else.
func (s *Screen) Act(a key.Action, on view.Selection) tea.Cmd {
	if a == key.Close {
		s.Pop(s.Top())
	}
	s.Say("act %s: %+v", a, on)
	return nil
}

func (s *Screen) Pop(v view.View) {
	s.Over = slices.DeleteFunc(s.Over, func(o view.View) bool { return o == v })
}

func (s *Screen) IsOpen(v view.View) bool { return slices.Contains(s.Over, v) }

func (s *Screen) Top() view.View {
	if len(s.Over) == 0 {
		return nil
	}
	return s.Over[len(s.Over)-1]
}
