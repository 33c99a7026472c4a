package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/session"
)

func newServeCSDS(a *cli) *cobra.Command {
	listen, client := settings.LocalAddr("127.0.0.1:0"), ""
	cmd := a.command(&cobra.Command{
		Use:   "serve-csds SOURCE [--listen ADDR] [--client NODE]",
		Short: "Tell CSDS clients where each xDS client stands",
		Long: `Serves client status discovery (envoy.service.status.v3) over gRPC from a
recording, a conversation script or a running proxy, until it is stopped: for
each client its node, and for each resource that it asked for or was sent its
state, version and content, and why it was rejected. xdsproxy run --serve-csds
does the same beside the proxy.

A recording that is still being written is followed, and the answer has the
clients that are connected. For a recording that has ended, the answer has all
clients that were seen, as they stood last. What the recording does not have is
left out.

gRPC's health service and reflection are there, too. An older grpcdebug reads
the answer only if it has one client: --client chooses that.

Over loopback and on unix:/path nobody is asked for a token. Another address has
to be allowed by --viewer-allow-remote, and callers need the token of viewers in
the metadata, as authorization: Bearer TOKEN.`,
		Example: `xdsproxy serve-csds session.xdsp --listen :50051
grpcdebug localhost:50051 xds status
grpcurl -plaintext localhost:50051 \
  envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused("serve-csds takes a SOURCE").Hint("xdsproxy serve-csds %s --listen :50051", input.Last)
		}
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if listen == "" {
			return misused("--listen off: nobody could ask")
		}
		return a.serveCSDS(cmd.Context(), name, string(listen), client)
	})
	cmd.Flags().Var(&listen, "listen", "where to serve it; :port is on this machine only, and port 0 a free one")
	cmd.Flags().Var(settings.NewText(&client, "NODE"), "client", "tell of the client with this node id only")
	a.useSettings(cmd, "memory-past", "viewer-allow-remote")
	return cmd
}

func (a *cli) serveCSDS(ctx context.Context, name, listen, client string) error {
	if name == "-" {
		path, remove, err := a.opener().Spool(input.MaxSpool)
		if err != nil {
			return err
		}
		defer remove()
		name = path
	} else if input.IsNamedPipe(name) {
		return misused("serve-csds reads the session again when somebody asks, and a named pipe can be read only once: write the recording of %s to a file first", name)
	}
	src, err := a.opener().Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	view := csds.New(func() (csds.Reader, error) {
		if src.Viewer != nil {
			return src.Viewer.Open(0, 0), nil
		}
		return a.opener().Open(src.Name)
	})
	view.Client = client
	h := a.host(false)
	defer h.Sync()
	server, err := h.OfferStatus(view, "listen", listen)
	if err != nil {
		return err
	}
	defer server.Close()
	told := false
	ready := func() {
		if !told {
			told = true
			server.Ready()
			server.Announce(a.console())
		}
	}
	err = a.account(ctx, src, view, ready)
	if err != nil && ctx.Err() == nil {
		if !input.Damaged(err) {
			return err
		}
		a.warn("%v; what is before it is served", err)
	}
	view.Over()
	ready()
	<-ctx.Done() // and it ends as it was asked to
	return nil
}

// account reads a source to its end: to that of its recording, if it is still being
// written. It is ready when what was there at first was read.
func (a *cli) account(ctx context.Context, src *input.Source, view *csds.View, ready func()) error {
	through := view.Through(check.NewChecker(a.config.Accounting()))
	if src.Viewer == nil && (!src.File || src.All().Complete) {
		return a.opener().Each(ctx, src, through, func(*session.Entry, *check.Change) error { return nil })
	}
	all := src.All()
	// Of a recording that was cut in its first block it is not known how far it goes.
	known := all.LastSeq > 0 || all.Writing || src.Viewer != nil
	if known && all.LastSeq == 0 {
		ready()
	}
	src.Follow(true)
	return input.Each(ctx, src, through, func(e *session.Entry, _ *check.Change) error {
		if known && e.Seq >= all.LastSeq {
			ready()
		}
		return nil
	})
}
