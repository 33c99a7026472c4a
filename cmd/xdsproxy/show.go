package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what messages consist of
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

func newShow(a *app) *cobra.Command {
	output := "yaml"
	cmd := a.command(&cobra.Command{
		Use:   "show SOURCE SEQ... [-o yaml|json]",
		Short: "Print entries in full, every message decoded",
		Long: `Prints entries in full: what is known of each, and its message decoded to the
last field, with the names of the .proto files and every Any expanded. A type
that is not known shows as field numbers and bytes. Secrets show as masks.

SEQ is a number as watch prints it, or a range of them: 4..9, 4.. or ..9. Each
entry is a document of its own, in the order of the recording.`,
		Example: `xdsproxy show @last 12
xdsproxy show session.xdsp 40..44 77

# The clusters of a response
xdsproxy show session.xdsp 12 -o json | jq '.message.resources[].name'`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return missingSeq(args)
		}
		wanted := &selection{}
		for _, arg := range args[1:] {
			if err := wanted.add(arg); err != nil {
				return err
			}
		}
		src, err := a.open(args[0])
		if err != nil {
			return err
		}
		defer src.Close()
		out := newLazyWriter(a.stdout)
		documents, first := render.NewDocuments(), true
		done := a.progress(src)
		spans := union(wanted.spans)
		spans[len(spans)-1].last = noLimit // the gap that explains what is missing may be told of later
		err = walk(cmd.Context(), src, spans, func(e *session.Entry, c *check.Change) error {
			done.advance()
			documents.See(e)
			if wanted.meet(e) {
				done.end()
				if !first && output == "yaml" {
					if _, err := io.WriteString(out, "---\n"); err != nil {
						return err
					}
				}
				first = false
				doc, err := documents.Document(e, c)
				if err != nil {
					return err
				}
				text := doc.YAML
				if output == "json" {
					text = doc.JSON
				}
				if _, err := out.Write(text()); err != nil {
					return err
				}
			}
			if wanted.done() {
				return errEnough
			}
			return nil
		})
		done.end()
		if flushed := out.Close(); err == nil {
			err = flushed
		}
		if err == nil {
			wanted.seen.last = max(wanted.seen.last, src.Facts().LastSeq)
			err = wanted.missing(src.name)
		}
		return err
	})
	outputFlag(cmd, &output, "yaml", "json")
	return cmd
}

func missingSeq(args []string) error {
	if len(args) == 0 {
		return misused("show needs a SOURCE and a SEQ").hint("xdsproxy show %s 12", lastSource)
	}
	return misused("show needs a SEQ: which entry of %q?", args[0]).
		hint("xdsproxy watch %s lists them", shellWord(args[0]))
}
