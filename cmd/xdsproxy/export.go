package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/export"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newExport(a *cli) *cobra.Command {
	x := &export.Export{Form: export.FormRecording}
	cmd := a.command(&cobra.Command{
		Use:   "export SOURCE... [-o FORM] [-w FILE] [--seq SEQ] [--filter FILTER]",
		Short: "Take a part out of a recording, convert or rescue one",
		Long: `Writes a recording, or what --seq and --filter choose of it, in another form.
Without -o the name of FILE says which: .xdsp .csv .jsonl .yaml .mmd .md .html
.xds .pcapng; no other ending will do.

  xdsp     a recording with the chosen entries and all that is needed to
           understand them: how their streams began, who the client is, what
           was asked before, the response that a verdict is about and the
           verdict on a response, what was accepted last, the ends. Entries keep
           their numbers and times; what is left out between them is marked and
           counts as no loss. --no-context writes the chosen entries alone
  csv      one line an entry, with the columns of watch
  jsonl    the objects of watch -o jsonl
  yaml     the documents of show
  mermaid  a sequence diagram
  md       a report for a bug tracker: what was recorded, the clients, what the
           rules found, with a diagram and the messages of each finding. It
           names messages of more than 4 MiB, and does not show them
  html     the same as one page for any browser, with every entry: it needs no
           network and runs no text of a peer. Its data is in it as JSON. It
           stays under some 10 MB: what there is no room for is summed up
  script   the whole conversation as text: one line a message, which every
           command reads like a recording, and which can be edited by hand.
           What the notation cannot carry is said; see xdsproxy help scripts
  bootstrap
           the bootstrap of an Envoy that asks nobody and serves what a client
           accepted last: its listeners, clusters, secrets and runtime values,
           with routes, endpoints and the configuration of filters in their
           places. --client says whose. Secrets are masked, so others are in
           their places; all that is missing is said. Listeners have the
           recorded addresses. It is JSON, or YAML if FILE ends in .yaml
  binarylog
           what a server of gRPC would have logged (gRFC A16), in the form of
           gRPC for Go: headers and messages of calls, and no connections
  pcapng   a capture for tshark and Wireshark: each connection is one of TCP,
           with HTTP/2 or HTTP/1.1 in it. What packets cannot carry is said, or
           a comment of one. docs/formats.md has a command of tshark that shows
           the fields of messages
  dir      a folder to edit: session.yaml has the entries, and each content of a
           resource is a file, resources/TYPE/NAME@N.yaml, decoded in full.
           xdsproxy import makes a recording of it again. -w DIR must not exist
           yet, or be empty
  parquet  tables of many recordings for DuckDB, Spark and their like. There may
           be several SOURCEs, directories and prefixes of a bucket among them.
           What is in -w DIR already is not written again: the same command once
           more adds what is new, and goes on where a run was interrupted.
           docs/columns.md has the tables

Of a directory, or a URL that ends in /, -o jsonl writes the entries of all
recordings below it in the order of time, each with its proxy.

Text goes to standard output if there is no FILE, or if it is -. Secrets that
were masked when they were recorded stay masked; --mask masks those of a
recording that was made with --keep-secrets.

--pseudonyms puts stand-ins in the place of the names of clients, resources
and hosts, of addresses, paths, metadata, versions and nonces. They have the
shape of the names, and equal ones stay equal, so that rules find the same and a
replay goes the same way. The key, which reveal needs to put names back, stays
in a file beside. Nothing is written if a name is found again in the result.

With --repair, copies everything that can be read of a recording, on both sides
of what is damaged, into a new recording without damage. SOURCE is left as it
is. Where something is missing, a gap entry says how much; a message of which a
part was lost says so, too. The exit code is 0 if anything was rescued, 12 if
nothing was. Each segment of a recording is rescued by itself.`,
		Example: `# Four entries, and what explains them, to attach to an issue
xdsproxy export gw.xdsp --seq 4104..4107 -w part.xdsp

# The same without a name in it
xdsproxy export gw.xdsp --seq 4104..4107 --pseudonyms -w part.xdsp

# The issue itself
xdsproxy export gw.xdsp --filter client:gw-0 -w report.md

# All of it, to look at in a browser
xdsproxy export gw.xdsp -w report.html

xdsproxy export gw.xdsp --filter 'client:gw-0 type:lds' -o mermaid
xdsproxy export gw.xdsp -o script -w gw.xds
xdsproxy export gw.xdsp -w gw.pcapng
xdsproxy export gw.xdsp --repair -w gw-fixed.xdsp

# What is new since the last time, as tables for DuckDB
xdsproxy export recordings/ -o parquet -w fleet

# What a gateway serves, without its control plane
xdsproxy export gw.xdsp -o bootstrap --client gw-0 -w gw.yaml
envoy --mode validate -c gw.yaml

# What if this timeout were 2s?
xdsproxy export gw.xdsp -o dir -w gw
xdsproxy import gw -w edited.xdsp
xdsproxy replay edited.xdsp -- envoy`,
		ValidArgsFunction: completeSources,
	}, func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("output") && !x.Repairing {
			form, err := export.FormOf(x.Path)
			if err != nil {
				return err
			}
			x.Form = form
		}
		if len(args) == 1 && input.IsMany(args[0]) && x.Form != "parquet" {
			if x.Form == "jsonl" && len(x.Seqs) == 0 && !x.Pseudonymous {
				for _, one := range []string{"mask", "repair", "no-context", "client", "key-file", "embed-descriptors", "since", "cluster", "keep-secrets"} {
					if cmd.Flags().Changed(one) {
						return misused("--%s is not for all of %q at once", one, args[0]).Hint("name one of its recordings")
					}
				}
				return a.exportMany(cmd.Context(), args[0], x.Filter, x.Path)
			}
			if all, err := a.opener().Recordings(cmd.Context(), args[0], fleet.Options{}); err != nil || len(all) > 1 {
				return cmp.Or(err, input.Several(args[0], all))
			}
		}
		x.Opener, x.Judge = a.opener(), a.config.Judging()
		x.Embed, x.EmbedAsked = bool(a.config.EmbedDescriptors), cmd.Flags().Changed("embed-descriptors")
		return x.Run(cmd.Context(), args)
	})
	cmd.Flags().VarP(settings.NewText(&x.Path, "FILE"), "write", "w", "write to this file, which must not exist yet; - is standard output")
	outputFlag(cmd, &x.Form, export.Forms...)
	cmd.Flags().StringSliceVar(&x.Seqs, "seq", nil, "only these entries: `SEQ` is a number or a range, such as 4104..4107")
	filterFlag(cmd, &x.Filter)
	cmd.Flags().BoolVar(&x.Bare, "no-context", false, "leave out what explains the chosen entries")
	cmd.Flags().BoolVar(&x.Mask, "mask", false, "mask secrets that were recorded in the clear")
	cmd.Flags().BoolVar(&x.Pseudonymous, "pseudonyms", false, "put stand-ins in the place of all names and addresses")
	cmd.Flags().Var(settings.NewText(&x.KeyFile, "FILE"), "key-file", "the key of the stand-ins, made if it is not there (default the name of\nthe written file and .key)")
	cmd.Flags().Var(settings.NewText(&x.Client, "CLIENT"), "client", "whose bootstrap: a node id, or a part of one that fits only one client")
	x.Tables.Cluster = export.DefaultCluster
	cmd.Flags().Var(settings.NewText(&x.Tables.Since, "WHEN"), "since", "of -o parquet: entries from then on: 2026-03-09T12:41Z, or 36h or 7d ago")
	cmd.Flags().Var(settings.NewText(&x.Tables.Cluster, "NAME"), "cluster", "of -o parquet: the cluster of recordings whose path names none")
	cmd.Flags().BoolVar(&x.Tables.Clear, "keep-secrets", false, "of -o parquet: export recordings with secrets in the clear as they are")
	cmd.Flags().BoolVar(&x.Repairing, "repair", false, "copy what is readable, and leave out what is damaged")
	a.useGroups(cmd, settings.GroupTypes)
	return cmd
}
