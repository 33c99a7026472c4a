package main

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/playback"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// live is how a command that is one side itself speaks with the live other one.
func (a *cli) live(security proxy.Pair) playback.Live {
	h, pairs := a.host(false), []proxy.Pair{security}
	return playback.Live{
		Security: security, DialTimeout: time.Duration(a.config.DialTimeout), Logger: h.Logger,
		KeyLogs:  func() (func(), error) { return settings.OpenKeyLogs(pairs) },
		Announce: func() { h.AnnounceSecurity(pairs) },
		Record: func(path string) (playback.Recording, error) {
			rec, err := h.Record(path)
			if err != nil {
				return nil, err
			}
			return kept{rec, h}, nil
		},
	}
}

// kept is a recording of a replay that somebody asked for.
type kept struct {
	*app.Recording
	host *app.Host
}

func (k kept) Announce() {
	if err := k.Recording.Announce(); err != nil {
		k.host.Warn("%v", err)
	}
	k.Account(k.host.Console)
}
