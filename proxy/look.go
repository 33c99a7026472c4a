package proxy

import (
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// lookEvery is how often the proxy looks after what no connection does
	// itself.
	lookEvery = time.Second
	// maxWarnings is how many lines wait for a standard error that is slow.
	maxWarnings = 256
)

// warning is a line of the program's log.
type warning struct {
	text   string
	fields []zap.Field
}

// warn logs a line without waiting for whoever reads it: accepting must not.
// Where too many wait already it is dropped; the recording has it.
func (p *Proxy) warn(text string, fields ...zap.Field) {
	select {
	case p.warnings <- warning{text, fields}:
	default:
	}
}

// look sums up bursts, ends connections of peers that have vanished, and
// writes warnings, until the function that it returns
// is called.
func (p *Proxy) look() (stop func()) {
	over := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		felt := time.Now()
		for {
			select {
			case now := <-tick.C:
				p.bursts.sum(now)
				if p.cfg.Limits.KeepAlive > 0 && now.Sub(felt) >= p.patience()/16 {
					p.endVanished(now)
					felt = now
				}
			case w := <-p.warnings:
				p.cfg.Logger.Warn(w.text, w.fields...)
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		looking.Wait()
		p.bursts.flush()
		for {
			select {
			case w := <-p.warnings:
				p.cfg.Logger.Warn(w.text, w.fields...)
			default:
				return
			}
		}
	}
}
