package main

import (
	"context"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func besideFiles(source string) error {
	return misused("--files and %q: one of them can be watched", source).Hint("run --files records files, and watch shows the recording")
}

// watched is what watch shows: a SOURCE, or the files in the directories of --files.
// reading ends its reading, and done lets go of it.
func (a *cli) watched(ctx context.Context, args []string) (src *input.Source, reading context.Context, done func(), err error) {
	if dirs, bootstrap := a.config.Files(); len(dirs) > 0 || bootstrap != "" {
		if len(args) > 0 {
			return nil, nil, nil, besideFiles(args[0])
		}
		src, done, err = a.watchedFiles(ctx)
		return src, context.WithoutCancel(ctx), done, err
	}
	name, err := oneSource(args)
	if err != nil {
		return nil, nil, nil, err
	}
	if src, err = a.opener().Open(name); err != nil {
		return nil, nil, nil, err
	}
	return src, ctx, func() { src.Close() }, nil
}

// watchedFiles watches files into memory until ctx is done. Then the recording ends,
// and so does who reads it.
func (a *cli) watchedFiles(ctx context.Context) (*input.Source, func(), error) {
	a.config.NoRecord, a.config.Viewer, a.config.Admin = true, settings.ViewerOff, ""
	h := a.host(true)
	s, err := h.Assemble(app.Design{Relay: h.RelayOf(nil)})
	if err != nil {
		return nil, nil, err
	}
	over := make(chan struct{})
	ended := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = s.Close(context.Background())
	})
	src, err := s.Log.Source()
	if err != nil {
		s.Discard()
		return nil, nil, err
	}
	s.AnnounceFiles()
	return src, func() {
		if ended() {
			_ = s.Close(context.Background())
		} else {
			<-over
		}
		src.Close()
		s.Log.Account(a.console())
		h.Sync()
	}, nil
}
