package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
)

// screenOfViewer is a running proxy, as the screen wants it. It gives up nothing:
// what is there can be looked at meanwhile.
func (a *cli) screenOfViewer(src *input.Source) tui.Source {
	addr, _ := proxy.ParseAddr(src.Name)
	var (
		mu    sync.Mutex
		state serve.State
	)
	client, err := a.opener().DialViewer(addr, 0, func(s serve.State) {
		mu.Lock()
		defer mu.Unlock()
		state = s
	})
	return tui.Source{
		Name:   src.Name,
		Live:   true,
		Export: a.exporter(src.Name),
		Open: func() (tui.Reader, error) {
			if err != nil {
				return nil, err
			}
			return &remoteReader{Reader: client.Open(0, 0), cli: a, name: src.Name}, nil
		},
		Facts: func() (recorder.Facts, error) {
			if err != nil {
				return recorder.Facts{}, err
			}
			info, err := client.Refresh(a.ctx)
			return info.Facts, err
		},
		Link: func() string {
			mu.Lock()
			defer mu.Unlock()
			if state.Detached.IsZero() {
				return ""
			}
			return fmt.Sprintf("detached %s, retry %d", render.Duration(time.Since(state.Detached).Round(time.Second)), state.Retry)
		},
	}
}

// remoteReader reads what a running proxy records, with the types that come with it.
type remoteReader struct {
	*serve.Reader
	cli       *cli
	name      string
	described bool
}

func (r *remoteReader) Next(ctx context.Context) (session.Entry, error) {
	e, err := r.Reader.Next(ctx)
	if err == nil && !r.described {
		r.described = true
		input.Describe(r.cli.config.Types, r.name, r.Facts(), r.cli.warn)
	}
	return e, err
}
