package tui

import (
	"context"
	"errors"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/terminal"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Run shows a source until the person leaves, or the terminal goes away. An
// error means that the screen could not be shown to its end; Outcome then says
// Detached, since the terminal is no reason to end anything else. If the screen
// itself is to blame, the error is a *Crash.
func Run(ctx context.Context, src Source, o Options) (Outcome, error) {
	inner, cancel := context.WithCancel(ctx)
	o.Links = terminal.KnowsLinks(o.Color, o.ASCII, os.Environ())
	m := newModel(inner, src, o)
	r, err := src.Open()
	if err != nil {
		cancel()
		return Stopped, err
	}
	if src.Facts != nil && !src.Live {
		if facts, err := src.Facts(); err == nil {
			m.log.Last = facts.LastSeq
		}
	}
	var reading sync.WaitGroup
	feed := m.log.Feed
	feed.Remember = src.Remember
	reading.Go(func() {
		defer r.Close()
		feed.Run(inner, r, src.Live, src.Found)
	})
	err = m.present(ctx, terminal.ColorOption(o.Color, os.Environ())...)
	cancel()
	reading.Wait()
	m.log.Fetch.Close()
	_ = m.marks.Save() // where it failed, that was said
	switch {
	case ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return Stopped, nil
	case err != nil:
		return Detached, err
	}
	return m.outcome, nil
}

// present runs the program.
func (m *Model) present(ctx context.Context, options ...tea.ProgramOption) error {
	g := &guard{model: m}
	p := tea.NewProgram(g, append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithEnvironment(os.Environ()),
	}, options...)...)
	g.quit = func() { go p.Quit() } // the program takes it when it has drawn
	_, err := p.Run()
	if crash := g.failed(); crash != nil {
		return crash
	}
	return err
}

// Themes are the names that Options.Theme takes.
func Themes() []string { return widget.Themes() }
