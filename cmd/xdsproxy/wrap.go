package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/wrap"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay/launch"
)

func newWrap(a *cli) *cobra.Command {
	var path, file string
	cmd := a.command(&cobra.Command{
		Use:   "wrap [--bootstrap FILE] [-w FILE] [--] COMMAND [ARGUMENT...]",
		Short: "Run an xDS client with the proxy in front of its servers",
		Long: `Reads the bootstrap of an xDS client, puts the proxy in front of every xDS
server that it names, and runs the command with a copy of the bootstrap that
leads to the proxy. The bootstrap itself is not touched. There is one recording,
of all servers.

The bootstrap is the first of these:

  --bootstrap FILE               {} in the command becomes the path of the copy
  -c FILE, --config-path FILE    of the command, if it is a bootstrap of Envoy;
                                 with --config-yaml TEXT over it, if there is
  --config-yaml TEXT             of the command, alone
  GRPC_XDS_BOOTSTRAP             of gRPC; and GRPC_XDS_BOOTSTRAP_CONFIG

Envoy's may be YAML or JSON, in all forms that Envoy reads: ADS, sources of
single types, SDS, HDS, LRS, by gRPC, REST or gRPC's own client, on TCP and unix
sockets. For gRPC, with all servers and authorities, the command finds the copy
in GRPC_XDS_BOOTSTRAP.

Where the bootstrap gives Envoy an admin port, Envoy is asked there what it
holds, and that is recorded, too. --held-interval off leaves it alone.

Where the client speaks TLS to a server, it speaks plaintext to the proxy in the
copy, on a socket that only this user can open, and the proxy speaks TLS with
what the bootstrap names: client certificate, key, roots, server name. It takes
the certificates of the server that the client would have taken. What cannot be
wrapped is named with the reason, and the client goes there directly: servers
that the bootstrap does not show, certificates that come from an SDS server,
TLS that depends on more than the bootstrap says. Servers that are named in what
a server sends are not wrapped either. The command must run on this machine, as
this user: what it shares with the proxy is for nobody else.

Standard input and output are the command's. Signals are passed on to it (those
that a terminal sends, it gets from there), and the exit code is its own. If a
signal ends it, that is 128 and the signal's number; 127 says that there is no
such command, 126 that it cannot be run. On a terminal only findings that are
errors are printed while it runs; the end says how to read the others.`,
		Example: `# One word in front of the command
xdsproxy wrap envoy -c envoy.yaml
# and in another terminal, to see what it says and is told
xdsproxy open @last

# The same in full, with a recording of a certain name
xdsproxy wrap --bootstrap envoy.yaml -w session.xdsp -- envoy -c {}

# An Envoy that Consul makes the bootstrap for
consul connect envoy -sidecar-for web -bootstrap > envoy.json
xdsproxy wrap envoy -c envoy.json

# A gRPC client
GRPC_XDS_BOOTSTRAP=bootstrap.json xdsproxy wrap ./client xds:///greeter
xdsproxy wrap --bootstrap bootstrap.json ./client xds:///greeter`,
	}, func(cmd *cobra.Command, args []string) error {
		plan, err := wrap.Find(a.console(), file, args)
		if err != nil {
			return err
		}
		return a.wrap(cmd.Context(), plan, path)
	})
	// What follows the command is the command's, flags and all.
	cmd.Flags().SetInterspersed(false)
	cmd.Args = cobra.ArbitraryArgs
	cmd.Flags().Var(settings.NewText(&file, "FILE"), "bootstrap", "the bootstrap of the client that the command runs")
	a.useSettings(cmd, "dial-timeout", "drain", "tap-memory", "queue", "sync", "max-size", "max-age", "keep",
		"no-record", "ring", "dump-on", "dump-dir", "dump-before", "dump-every", "dump-max-size", "dump-format", "envoy-admin", "csds", "held-interval", "held-ca", "held-token-file", "memory-past", "no-check", "keep-secrets", "descriptors", "proto-path", "embed-descriptors", "viewer", "viewer-allow-remote", "admin", "admin-pprof", "serve-csds")
	writeFlag(cmd, &path)
	return cmd
}

// wrap runs the command of a plan behind the proxy. It ends when the command
// does, whatever ctx says: signals are the command's to heed.
func (a *cli) wrap(ctx context.Context, plan *wrap.Plan, path string) error {
	child := plan.Command()
	defer child.Stop()
	servers, err := plan.Servers()
	if err != nil {
		return err
	}
	h := a.host(true)
	defer h.Sync()
	heap.CollectLess()
	dir, err := launch.PrivateDir()
	if err != nil {
		return failed("cannot make a directory for the bootstrap: %w", err)
	}
	defer os.RemoveAll(dir)
	pairs, err := plan.Pairs(servers, dir)
	if err != nil {
		return err
	}
	s, err := h.Assemble(app.Design{
		Path: path, Relay: h.RelayOf(pairs), Begin: engine.StaticNote(plan.Doc.Clusters), Held: plan.Held(a.config.AsksHeld()),
		Bound: func(addrs []net.Addr) error { return plan.Lead(servers, addrs, dir) },
	})
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		s.Discard()
		return err
	}
	serving, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	defer s.Announce(serving, func() {
		for i, addr := range s.Proxy.Addrs() {
			a.say("listening on %s, upstream %s, recording %s", proxy.AddrOf(addr), pairs[i].Upstream, s.Log.Place())
			if t := servers[i].TLS; t != nil {
				a.say("towards %s: %s, as %s has it", pairs[i].Upstream, t, plan.Name)
			}
		}
	})()
	return a.attend(serving, drain, child, s)
}

// attend serves until the command has ended, and finishes the recording.
func (a *cli) attend(serving context.Context, drain func(), child *wrap.Command, s *app.Assembly) error {
	var relay sync.WaitGroup
	relay.Go(func() { _ = s.Proxy.Serve(serving) }) // it fails only where Listen did
	judged := make(chan struct{})
	go func() {
		defer close(judged)
		s.Oversee()
	}()
	code := child.Wait()
	impatient, once := context.WithCancel(context.Background())
	defer once()
	child.Afterwards(s.Proxy.Close, once)
	drain()
	relay.Wait()
	closing := s.Close(impatient)
	s.AwaitJudged(impatient, judged)
	s.AwaitDumps(impatient)
	s.Log.Account(a.console())
	if code == console.ExitDone {
		return closing
	}
	if closing != nil {
		a.warn("%v", closing)
	}
	return &failure{Err: fmt.Errorf("the command ended with %d", code), Code: code, Aloof: true, Silent: true}
}
