package tui

import (
	"context"
	"errors"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Run shows a source until the person leaves, or the terminal goes away. An
// error means that the screen could not be shown to its end; Outcome then says
// Detached, since the terminal is no reason to end anything else.
func Run(ctx context.Context, src Source, o Options) (Outcome, error) {
	inner, cancel := context.WithCancel(ctx)
	m := newModel(inner, src, o)
	r, err := src.Open()
	if err != nil {
		cancel()
		return Stopped, err
	}
	if src.Facts != nil && !src.Live {
		if facts, err := src.Facts(); err == nil {
			m.last = facts.LastSeq
		}
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer r.Close()
		m.feed.Run(inner, r, src.Live, src.Found)
	})
	_, err = tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithEnvironment(os.Environ())).Run()
	cancel()
	reading.Wait()
	m.fetch.Close()
	switch {
	case ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return Stopped, nil
	case err != nil:
		return Detached, err
	}
	return m.outcome, nil
}
