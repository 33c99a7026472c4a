package premise

import (
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// expectedTimeout is the header in which an Envoy says how long it waits for the
// answer to a poll, in milliseconds.
const expectedTimeout = "x-envoy-expected-rq-timeout-ms"

// poll looks how long a client waits for an answer.
func (o *Observer) poll(e *session.Entry, c *engine.Change) {
	switch {
	case e.Kind == session.KindOpen:
		if ms, err := strconv.Atoi(session.Get(e.Headers, expectedTimeout)); err == nil && ms > 0 && len(o.timeouts) < maxTimeouts {
			o.timeouts[e.Stream] = time.Duration(ms) * time.Millisecond
		}
	case c.Request != nil:
		if d, is := o.timeouts[e.Stream]; is {
			o.waits[c.Client] = max(o.waits[c.Client], d)
			delete(o.timeouts, e.Stream)
		}
	}
}

// maxTimeouts bounds the polls that are open.
const maxTimeouts = 1 << 12
