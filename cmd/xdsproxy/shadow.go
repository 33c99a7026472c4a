package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay/shadow"
)

// followed says what is wrong with how --follow was called.
func (r *replaying) followed(cmd *cobra.Command) error {
	if !r.follow {
		if r.noise != "" {
			return misused("--noise is for --follow: a recording that is played to its end has no second instance to ask")
		}
		return nil
	}
	switch {
	case r.noise != "" && r.as == "server":
		return misused("--noise is for --as client: with --as server no control plane is asked")
	case cmd.Flags().Changed("pace"):
		return misused("--pace is not for --follow: what is recorded now is played now")
	case r.write != "":
		return misused("--write is not for --follow").hint("a second xdsproxy run in front of the other side records what it says")
	}
	if r.noise != "" {
		if _, err := proxy.ParseAddr(r.noise); err != nil {
			return misused("--noise: %w", err)
		}
	}
	return nil
}

// following plays a side of a recording while that grows.
func (r *replaying) following(ctx context.Context) error {
	src, err := r.open(r.source)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.script {
		return misused("--follow needs a recording that is being written, and %q is a script", r.source)
	}
	src.Follow(true)
	src.Pieces()
	dir, err := privateDir()
	if err != nil {
		return failed("cannot make a directory for a socket: %w", err)
	}
	defer os.RemoveAll(dir)
	return r.shadowed(ctx, src, dir)
}

// shadowed asks another control plane what the live clients ask.
func (r *replaying) shadowed(ctx context.Context, src *source, dir string) error {
	out := newLazyWriter(r.stdout)
	o := shadow.Options{Client: r.client, Idle: time.Duration(r.idle), Event: func(e shadow.Event) {
		if r.output == "json" {
			line, _ := json.Marshal(struct {
				Schema string `json:"schema"`
				shadow.Event
			}{schema, e})
			fmt.Fprintf(out, "%s\n", line)
			return
		}
		fmt.Fprint(out, shadowText(e))
	}}
	target, done, err := r.reached(dir, "target", r.target)
	if err != nil {
		return err
	}
	defer done()
	o.Target = target
	if r.noise != "" {
		second, done, err := r.reached(dir, "noise", r.noise)
		if err != nil {
			return err
		}
		defer done()
		o.Noise = &second
	}
	r.tell("asking %s what the clients of %s ask", r.target, r.source)
	sum, err := shadow.Run(ctx, src, o)
	o.Event(shadow.Event{What: shadow.Summarized, Time: time.Now(), Text: sum.String(), Summary: sum})
	if closed := out.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return unreadable(err)
	case sum.Different():
		return errDifferences
	case sum.Streams == 0 && ctx.Err() == nil:
		return failed("nothing was asked: no stream of %q was open", r.source).
			hint("without --follow, a recording that has ended is played from its beginning")
	}
	return nil
}

// reached is a control plane that is asked, through a proxy of its own where that
// speaks TLS or sets headers.
func (r *replaying) reached(dir, name, text string) (t shadow.Target, done func(), err error) {
	to, _ := proxy.ParseAddr(text) // it was checked
	t = shadow.Target{Name: text, Authority: authorityOf(to)}
	done = func() {}
	if r.security.UpstreamTLS != nil || r.security.Rewrite != nil {
		logger, heard := r.logger(false), &troubles{}
		pair := r.security
		pair.Listen, pair.Upstream = proxy.Addr{Network: "unix", Address: filepath.Join(dir, name+".sock")}, to
		p, err := proxy.Listen(proxy.Config{
			Pairs: []proxy.Pair{pair}, Log: heard, Logger: logger, DialTimeout: time.Duration(r.config.dialTimeout), Drain: time.Second,
		})
		if err != nil {
			return t, done, unbound(err)
		}
		relaying, stop := context.WithCancel(context.Background())
		var serving sync.WaitGroup
		serving.Go(func() { _ = p.Serve(relaying) }) // it fails only where Listen did
		done = func() { stop(); serving.Wait(); _ = logger.Sync() }
		to = pair.Listen
		t.Why = func() string {
			if n := heard.why(); n != nil {
				return n.Text
			}
			return ""
		}
	}
	t.Dial = func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: time.Duration(r.config.dialTimeout)}
		return d.DialContext(ctx, to.Network, to.Address)
	}
	return t, done, nil
}

// shadowText is an event as a person reads it.
func shadowText(e shadow.Event) string {
	mark := "i"
	switch e.What {
	case shadow.Differs:
		mark = "!"
	case shadow.Trouble, shadow.Behind:
		mark = "~"
	}
	var b strings.Builder
	if e.What == shadow.Summarized {
		for _, d := range e.Summary.Differences {
			stands := "it stands"
			if !d.Stands {
				stands = "it stood"
			}
			fmt.Fprintf(&b, "! %s %q: %s; %s since %s, on %s\n", render.Safe(d.Type), render.Safe(d.Name), render.Safe(d.Got), stands,
				d.Since.Format("15:04:05.000"), render.Count(d.Streams, "stream", "streams"))
		}
		return b.String() + e.Text + "\n"
	}
	fmt.Fprintf(&b, "%s %s %s\n", e.Time.Format("15:04:05.000"), mark, render.Safe(e.Text))
	if e.What == shadow.Differs {
		for line := range strings.Lines(e.Detail) {
			b.WriteString("    " + render.Safe(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	return b.String()
}
