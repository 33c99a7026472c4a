package main

import (
	"context"
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay"
)

// dumping is the comparison of what was played with what the Envoy holds then.
type dumping struct {
	addr  string // of the admin endpoint, as it was asked for; "" for no comparison
	admin *configdump.Admin
	dump  *configdump.Dump
	at    time.Time
	err   error // why there is no dump
	found *render.HeldDiff
}

// ownAdmin is the value of the flag that stands for the admin endpoint of the
// command that is run.
const ownAdmin = "command"

// adminOf is the address behind the flag. The one of a command's bootstrap is to be
// taken from here.
func (r *replaying) adminOf(addr string) (*configdump.Admin, error) {
	if addr == ownAdmin {
		return nil, errors.New("no command is run, so an address is needed: --compare-config-dump=127.0.0.1:9901")
	}
	return configdump.ParseAdmin(addr)
}

// afterwards asks for the dump once everything was played.
func (r *replaying) afterwards() func(context.Context) {
	if r.dumped.admin == nil {
		return nil
	}
	return func(ctx context.Context) {
		r.dumped.dump, r.dumped.err = r.dumped.admin.Settled(ctx, r.options.Idle)
		r.dumped.at = time.Now()
	}
}

// compare holds the dump against the recording of the replay.
func (r *replaying) compare(ctx context.Context, recording string) error {
	d := &r.dumped
	if d.dump == nil {
		return d.err
	}
	var err error
	d.found, err = r.compareDump(ctx, recording, d.at, d.dump, "config_dump of "+d.addr, "")
	return err
}

// undumped says why nothing was compared.
func (r *replaying) undumped(report *replay.Report) error {
	d := &r.dumped
	switch {
	case d.admin == nil || d.found != nil || report.Streams == 0:
		return nil
	case d.err != nil:
		return failed("cannot get the config_dump of %s: %w", d.addr, d.err).hint("give the address of the admin endpoint that Envoy has on this machine")
	}
	return failed("there is no config_dump of %s: the replay ended before everything was played", d.addr)
}
