package playback

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
)

// LongerThanEnvoy is more than the 15 seconds that an Envoy waits for what a
// resource needs before it answers without.
const LongerThanEnvoy = 20 * time.Second

// betweenStreams is more than the 30 seconds that an Envoy waits at most before it
// opens a stream again; manyStreams without a response make it wait longer than the
// default of --idle. A response ends that (its GrpcStream, with an
// ExponentialBackOffStrategy from 500 ms on).
const (
	betweenStreams = 35 * time.Second
	manyStreams    = 5
)

// patience is longer for an Envoy that has to wait for what nobody gives it, or
// before it comes back, unless somebody said how long it is.
func (r *Replay) patience(plan *replay.Plan) {
	r.Options.Idle = r.Idle
	if r.observer == nil || r.IdleGiven || r.Options.Idle >= LongerThanEnvoy {
		return
	}
	if of, _ := r.observer.Client(r.Options.Client); of.GRPC {
		return
	}
	if inVain(plan, r.Options.Client) >= manyStreams {
		r.Options.Idle = betweenStreams
		r.Say("envoy waits for up to 30s before it opens a stream again, after several that got no response: --idle is %s", r.Options.Idle)
		return
	}
	secrets := r.observer.Unrecorded(r.Options.Client)
	if len(secrets) == 0 {
		return
	}
	r.Options.Idle = LongerThanEnvoy
	what := fmt.Sprintf("the secret %q, which is", secrets[0])
	if len(secrets) > 1 {
		what = fmt.Sprintf("%d secrets, such as %q, which are", len(secrets), secrets[0])
	}
	r.Say("envoy waits for %s not in the recording, by default up to 15s: --idle is %s", what, r.Options.Idle)
}

// inVain is how many streams of a method a client opened at most, one after the
// other, that got no response.
func inVain(plan *replay.Plan, client string) (most int) {
	running := make(map[xds.Method]int)
	for _, s := range plan.Streams {
		switch {
		case s.Client != client:
		case slices.ContainsFunc(s.Topics, func(t *replay.Topic) bool { return len(t.Responses) > 0 }):
			running[s.Method] = 0
		default:
			running[s.Method]++
			most = max(most, running[s.Method])
		}
	}
	return most
}
