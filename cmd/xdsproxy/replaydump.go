package main

import (
	"context"
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/compare"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay"
)

// dumping is the comparison of what was played with what the Envoy holds then.
type dumping struct {
	addr  string        // of the admin endpoint, as it was asked for; "" for no comparison
	own   func() string // that of the command that is run; nil if none is
	admin *configdump.Admin
	dump  *configdump.Dump
	at    time.Time
	err   error // why there is no dump
	found *render.HeldDiff
}

// ownAdmin is the value of the flag that stands for the admin endpoint of the
// command that is run.
const ownAdmin = "command"

func (d *dumping) whose() string {
	if d.addr == ownAdmin {
		return "the command"
	}
	return d.addr
}

// toCompare looks at what the flag says. The address of a command that is run is
// asked for only when it is needed.
func (r *replaying) toCompare() (err error) {
	d := &r.dumped
	switch {
	case d.addr == "":
		return nil
	case r.as == "client":
		return misused("--compare-config-dump is for --as server: it asks an Envoy")
	case d.addr == ownAdmin && d.own == nil:
		return misused("--compare-config-dump: no command is run, so an address is needed: --compare-config-dump=127.0.0.1:9901")
	case d.addr != ownAdmin:
		if d.admin, err = configdump.ParseAdmin(d.addr); err != nil {
			return misused("--compare-config-dump: %w", err)
		}
	}
	r.options.Played = func(ctx context.Context) {
		if d.admin == nil {
			if d.admin, d.err = configdump.ParseAdmin(d.own()); d.err != nil {
				return
			}
		}
		d.dump, d.err = d.admin.Settled(ctx, r.options.Idle)
		d.at = time.Now()
	}
	return nil
}

// compare holds the dump against the recording of the replay.
func (r *replaying) compare(ctx context.Context, recording string) error {
	d := &r.dumped
	if d.dump == nil {
		return d.err
	}
	var err error
	d.found, err = (&compare.Comparison{Opener: r.opener()}).Dump(ctx, recording, d.at, d.dump, "config_dump of "+d.whose(), "")
	if err == nil && d.found.Empty() {
		d.found, d.err = nil, errEmptyDump
	}
	if err == nil && d.found != nil && r.write == "" {
		d.found.Notes = append(d.found.Notes, "entries are numbered as in the recording of the replay, which -w FILE keeps")
	}
	return err
}

// errEmptyDump says that what an Envoy holds is nothing that the session has.
var errEmptyDump = errors.New("it has nothing that could be compared")

// undumped says why nothing was compared.
func (r *replaying) undumped(report *replay.Report) error {
	d := &r.dumped
	switch {
	case d.addr == "" || d.found != nil || report.Streams == 0:
		return nil
	case d.err != nil:
		return failed("cannot get the config_dump of %s: %w", d.whose(), d.err).Hint("give the address of the admin endpoint that Envoy has on this machine")
	}
	return failed("there is no config_dump of %s: the replay ended before everything was played", d.whose())
}
