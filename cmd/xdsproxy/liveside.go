package main

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/playback"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// live is how a command that is one side itself speaks with the live other one.
func (a *app) live(security proxy.Pair) playback.Live {
	logger := a.logger(false)
	return playback.Live{
		Security: security, DialTimeout: time.Duration(a.config.dialTimeout), Logger: logger,
		KeyLogs:  func() (func(), error) { return openKeyLogs([]proxy.Pair{security}) },
		Announce: func() { a.announceSecurity([]proxy.Pair{security}) },
		Record: func(path string) (playback.Recording, error) {
			rec, err := a.record(path, logger)
			if err != nil {
				return nil, err
			}
			return kept{rec, a}, nil
		},
	}
}

// kept is a recording of a replay that somebody asked for.
type kept struct {
	*recording
	app *app
}

func (k kept) Announce() {
	if err := k.announce(); err != nil {
		k.app.warn("%v", err)
	}
	k.app.account(k.recording)
}

func (k kept) Discard() { k.discard() }
