package playback

import (
	"context"
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/compare"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay"
)

// dumping is the comparison of what was played with what the Envoy holds then.
type dumping struct {
	admin *configdump.Admin
	dump  *configdump.Dump
	at    time.Time
	err   error // why there is no dump
	found *render.HeldDiff
}

// OwnAdmin is the value of the flag that stands for the admin endpoint of the
// command that is run.
const OwnAdmin = "command"

// whose names the Envoy whose dump is compared.
func (r *Replay) whose() string {
	if r.CompareDump == OwnAdmin {
		return "the command"
	}
	return r.CompareDump
}

// toCompare looks at what the flag says. The address of a command that is run is
// asked for only when it is needed.
func (r *Replay) toCompare() (err error) {
	d := &r.dumped
	switch {
	case r.CompareDump == "":
		return nil
	case r.As == "client":
		return console.Misused("--compare-config-dump is for --as server: it asks an Envoy")
	case r.CompareDump == OwnAdmin && len(r.Commands) == 0:
		return console.Misused("--compare-config-dump: no command is run, so an address is needed: --compare-config-dump=127.0.0.1:9901")
	case r.CompareDump != OwnAdmin:
		if d.admin, err = configdump.ParseAdmin(r.CompareDump); err != nil {
			return console.Misused("--compare-config-dump: %w", err)
		}
	}
	r.Options.Played = func(ctx context.Context) {
		if d.admin == nil {
			if d.admin, d.err = configdump.ParseAdmin(r.admin); d.err != nil {
				return
			}
		}
		d.dump, d.err = d.admin.Settled(ctx, r.Options.Idle)
		d.at = time.Now()
	}
	return nil
}

// compare holds the dump against the recording of the replay.
func (r *Replay) compare(ctx context.Context, recording string) error {
	d := &r.dumped
	if d.dump == nil {
		return d.err
	}
	var err error
	d.found, err = (&compare.Comparison{Opener: r.Opener}).Dump(ctx, recording, d.at, d.dump, "config_dump of "+r.whose(), "")
	if err == nil && d.found.Empty() {
		d.found, d.err = nil, errEmptyDump
	}
	if err == nil && d.found != nil && r.Write == "" {
		d.found.Notes = append(d.found.Notes, "entries are numbered as in the recording of the replay, which -w FILE keeps")
	}
	return err
}

// errEmptyDump says that what an Envoy holds is nothing that the session has.
var errEmptyDump = errors.New("it has nothing that could be compared")

// undumped says why nothing was compared.
func (r *Replay) undumped(report *replay.Report) error {
	d := &r.dumped
	switch {
	case r.CompareDump == "" || d.found != nil || report.Streams == 0:
		return nil
	case d.err != nil:
		return console.Failed("cannot get the config_dump of %s: %w", r.whose(), d.err).Hint("give the address of the admin endpoint that Envoy has on this machine")
	}
	return console.Failed("there is no config_dump of %s: the replay ended before everything was played", r.whose())
}
