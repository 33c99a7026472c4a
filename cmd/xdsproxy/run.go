package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

func newRun(a *cli) *cobra.Command {
	var path string
	cmd := a.command(&cobra.Command{
		Use:   "run --upstream ADDR [--listen ADDR] [-w FILE] [--headless]",
		Short: "Forward between clients and a control plane, and record it",
		Long: `Listens where clients connect, opens one connection to the control plane for
each of theirs, and forwards every byte both ways, unchanged and at once. What
passes is decoded and recorded; traffic never waits for the recording.

An address is host:port, [::1]:port, unix:/path or unix:@abstract. Both legs are
plaintext, unless --tls-cert or --tls-ca-dir switches TLS on towards clients, or
--upstream-tls towards the control plane. Files with certificates, keys and
headers are read again when they change. Several listeners that differ stand in
a configuration file: xdsproxy help configuration.

--files watches the files of Envoy's filesystem subscriptions, beside that or
alone, and records each change of one: xdsproxy help files.

What lives is followed as long as it lives. What is over (streams that ended,
clients that left, versions that were replaced) is remembered in --memory-past,
which bounds the memory of a proxy that runs for months. When it is full, the
least recent is forgotten: rules that would need it are silent, never wrong.
xdsproxy info and /metrics say how often that happened; check on the recording
with a larger --memory-past judges it again.

--archive uploads each finished segment of the recording to a bucket or a
directory. Nothing waits for that. What could not be uploaded is uploaded by the
next run that records into the same directory. For s3:// the environment says
what it says to AWS's own programs: AWS_PROFILE, AWS_ENDPOINT_URL and so on.

On a terminal the screen of xdsproxy open shows what passes; it never holds it
up. If the terminal goes away, the proxy goes on until the last client has left.
--headless leaves the screen out.

SIGINT or SIGTERM stops it: messages on their way may finish for as long as
--drain says, the rules may look at what was recorded last for 2s more, and the
exit code is 0. What the rules had no time for is said. A second signal stops at
once. SIGHUP makes it say whether its configuration file has changed.`,
		Example: `# In front of Istio's plaintext port
xdsproxy run --upstream istiod.istio-system:15010

# Two control planes, each behind an address of its own
xdsproxy run --upstream a:18000 --upstream b:18000 \
             --listen 127.0.0.1:18001 --listen 127.0.0.1:18002

# With TLS to Istio, and for the clients with an authority of one's own
xdsproxy run --upstream istiod.istio-system:15012 \
             --upstream-ca root-cert.pem --tls-ca-dir ./debugging-ca

# Files of Envoy instead of a control plane, and what Envoy makes of them
xdsproxy run --files /etc/envoy/dynamic --envoy-bootstrap envoy.yaml \
             --envoy-admin 127.0.0.1:9901

# As a service that keeps five segments here, and all of them in a bucket
xdsproxy run --headless --upstream istiod.istio-system:15010 --admin :9901 \
             --archive s3://mesh-recordings/xds/ --keep 4 --archive-hold 10GiB

# In a script: the first line on standard error says that it is ready
xdsproxy run --headless --upstream unix:/run/cp.sock -w session.xdsp`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		return a.run(cmd.Context(), path)
	})
	a.useRunSettings(cmd)
	writeFlag(cmd, &path)
	return cmd
}

func writeFlag(cmd *cobra.Command, p *string) {
	f := cmd.Flags().VarPF(settings.NewText(p, "FILE"), "write", "w", "record to this file, which must not exist yet; else to a new one in the state directory")
	f.Annotations = map[string][]string{settings.GroupKey: {settings.GroupRecord}}
}

func (a *cli) run(ctx context.Context, path string) error {
	pairs, err := a.config.Pairs(a.console())
	if err != nil {
		return err
	}
	watched := a.canDraw(false) && !bool(a.config.Headless)
	h := a.host(watched)
	defer h.Sync()
	heap.CollectLess()
	s, err := h.Assemble(app.Design{Path: path, Relay: h.RelayOf(pairs), Archived: true})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	if !watched {
		defer s.HeedHangups(serving, stop)()
	}
	defer s.Announce(serving, func() {
		for i, addr := range s.Proxy.Addrs() {
			a.tell("listening on %s, upstream %s, recording %s", proxy.AddrOf(addr), pairs[i].Target(), s.Log.Place())
		}
		s.AnnounceSecurity(pairs)
	})()
	again, done := app.SecondSignal(func() { a.say("stopping; again to stop at once") })
	defer done()
	cut := context.AfterFunc(again, s.Proxy.Close)
	defer cut()
	over := make(chan struct{})
	go func() {
		defer close(over)
		if !watched {
			s.Oversee()
			return
		}
		var counting sync.WaitGroup
		counting.Go(s.Count)
		s.Attended(serving, stop, func(ctx context.Context) (tui.Outcome, error) {
			return a.draw(ctx, a.screenOfRecording(s.Log, s.Routes, s.Proxy.Clients))
		})
		counting.Wait()
	}()
	err = s.Proxy.Serve(serving)
	if closing := s.Close(again); err == nil {
		err = closing
	}
	s.AwaitJudged(again, over)
	s.AwaitDumps(again)
	s.AwaitArchive(again)
	s.Log.Account(a.console())
	if err == nil && again.Err() != nil {
		err = context.Canceled
	}
	return err
}
