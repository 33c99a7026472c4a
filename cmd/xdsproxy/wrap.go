package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
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
		plan, err := a.plan(file, args)
		if err != nil {
			return err
		}
		return a.wrap(cmd.Context(), plan, path)
	})
	// What follows the command is the command's, flags and all.
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().Var(settings.NewText(&file, "FILE"), "bootstrap", "the bootstrap of the client that the command runs")
	a.useSettings(cmd, "dial-timeout", "drain", "tap-memory", "queue", "sync", "max-size", "max-age", "keep",
		"no-record", "ring", "memory-past", "no-check", "keep-secrets", "viewer", "viewer-allow-remote", "admin", "admin-pprof")
	writeFlag(cmd, &path)
	return cmd
}

// wrap runs the command of a plan behind the proxy. It ends when the command
// does, whatever ctx says: signals are the command's to heed.
func (a *cli) wrap(ctx context.Context, plan *plan, path string) error {
	servers, err := a.wrappable(plan)
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
	pairs, err := a.pairsOf(servers, dir, plan.name)
	if err != nil {
		return err
	}
	s, err := h.Assemble(app.Design{
		Path: path, Relay: h.RelayOf(pairs), Begin: engine.StaticNote(plan.doc.Clusters),
		Bound: func(addrs []net.Addr) error { return plan.lead(servers, addrs, dir) },
	})
	if err != nil {
		return err
	}
	child := newChild(plan.argv, plan.env, a)
	defer child.stop()
	if err := child.start(); err != nil {
		s.Discard()
		return err
	}
	serving, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	defer s.Announce(serving, func() {
		for i, addr := range s.Proxy.Addrs() {
			a.say("listening on %s, upstream %s, recording %s", proxy.AddrOf(addr), pairs[i].Upstream, s.Log.Place())
			if t := servers[i].TLS; t != nil {
				a.say("towards %s: %s, as %s has it", pairs[i].Upstream, t, plan.name)
			}
		}
	})()
	return a.attend(serving, drain, child, s)
}

// attend serves until the command has ended, and finishes the recording.
func (a *cli) attend(serving context.Context, drain func(), child *child, s *app.Assembly) error {
	var relay sync.WaitGroup
	relay.Go(func() { _ = s.Proxy.Serve(serving) }) // it fails only where Listen did
	judged := make(chan struct{})
	go func() {
		defer close(judged)
		s.Oversee()
	}()
	code := child.wait()
	impatient, once := context.WithCancel(context.Background())
	defer once()
	child.afterwards(s.Proxy.Close, once)
	drain()
	relay.Wait()
	closing := s.Close(impatient)
	s.AwaitJudged(impatient, judged)
	s.Log.Account(a.console())
	if code == console.ExitDone {
		return closing
	}
	if closing != nil {
		a.warn("%v", closing)
	}
	return &failure{Err: fmt.Errorf("the command ended with %d", code), Code: code, Aloof: true, Silent: true}
}

// wrappable are the servers that a proxy can stand in for; of the others it is
// said why it cannot.
func (a *cli) wrappable(plan *plan) ([]*bootstrap.Server, error) {
	var servers []*bootstrap.Server
	var why []string
	secured := false
	for _, s := range plan.doc.Servers {
		if s.Obstacle == nil {
			servers = append(servers, s)
			continue
		}
		secured = secured || s.Obstacle.Secured
		why = append(why, fmt.Sprintf("%s: %s", describe(s), render.Safe(s.Obstacle.Why)))
	}
	const plaintext = "certificates can be taken over from files and from the bootstrap itself; else name a plaintext port of the server there, such as Istio's 15010"
	switch {
	case len(plan.doc.Servers) == 0:
		return nil, failed("%s names no xDS server", plan.name).
			Hint("Envoy names them by ads_config or another config source with grpc_services or cluster_names, gRPC by xds_servers")
	case len(servers) == 0:
		f := failed("%s names no xDS server that can be wrapped", plan.name)
		for _, w := range why {
			f.Hint("%s", w)
		}
		if secured {
			f.Hint(plaintext)
		}
		return nil, f
	}
	for _, w := range why {
		a.warn("cannot wrap %s; the command goes there directly", w)
	}
	if secured {
		a.tell("xdsproxy: hint: %s", plaintext)
	}
	for _, w := range plan.doc.Warnings {
		a.warn("%s", w)
	}
	return servers, nil
}

// describe names a server as the one who wrote the bootstrap knows it.
func describe(s *bootstrap.Server) string {
	text := s.Address
	if names := strings.Join(s.Names, ", "); text == "" {
		text = "cluster " + names
	} else if names != "" {
		text += " (" + names + ")"
	}
	what := []string{}
	for _, u := range s.Uses {
		if len(what) == 0 || what[len(what)-1] != u.What {
			what = append(what, u.What)
		}
	}
	return render.Safe(text + ", for " + strings.Join(what, ", "))
}

// pairsOf puts a listener in front of each server, of the kind that the client
// expects there: its sockets in dir, or any port of loopback.
func (a *cli) pairsOf(servers []*bootstrap.Server, dir, source string) ([]proxy.Pair, error) {
	pairs := make([]proxy.Pair, len(servers))
	for i, s := range servers {
		upstream, err := proxy.ParseAddr(s.Address)
		if err != nil {
			return nil, failed("%s: %w", describe(s), err)
		}
		pairs[i] = proxy.Pair{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: upstream}
		switch {
		case s.Private():
			pairs[i].Listen = proxy.Addr{Network: "unix", Address: filepath.Join(dir, fmt.Sprintf("%d.sock", i+1))}
		case s.IPv6:
			pairs[i].Listen.Address = "[::1]:0"
		}
		if s.TLS == nil {
			continue
		}
		if pairs[i].UpstreamTLS, err = inPlaceOf(s, source, filepath.Join(dir, strconv.Itoa(i+1))); err != nil {
			return nil, failed("cannot wrap %s: %w", describe(s), err)
		}
		if s.TLS.AnyRoot && len(s.TLS.Pins) == 0 {
			a.warn("%s: the command takes any certificate there (its TLS context has no trusted_ca), and so does xdsproxy", describe(s))
		}
	}
	return pairs, nil
}
