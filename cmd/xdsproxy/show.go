package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

func newShow(a *cli) *cobra.Command {
	var text string
	output := "yaml"
	cmd := a.command(&cobra.Command{
		Use:   "show SOURCE [SEQ...] [--filter FILTER] [-o yaml|json]",
		Short: "Print entries in full, every message decoded",
		Long: `Prints entries in full: what is known of each, and its message decoded to the
last field, with the names of the .proto files and every Any expanded. A type
that is not known shows as field numbers and bytes; --descriptors says more
types. Secrets show as masks.

SEQ is a number as watch prints it, or a range of them: 4..9, 4.. or ..9.
--filter says which of them are wanted, or of all entries without a SEQ;
xdsproxy help filters explains how. Each entry is a document of its own, in the
order of the recording.`,
		Example: `xdsproxy show @last 12
xdsproxy show session.xdsp 40..44 77

# Everything that was rejected
xdsproxy show session.xdsp --filter kind:nack

# The clusters of a response
xdsproxy show session.xdsp 12 -o json | jq '.message.resources[].name'`,
		ValidArgsFunction: completeSource,
	}, a.paging(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) == 1 && text == "" {
			return missingSeq(args)
		}
		wanted := &input.Selection{}
		for _, arg := range args[1:] {
			if err := wanted.Add(arg); err != nil {
				return err
			}
		}
		q, err := input.ParseQuery(text)
		if err != nil {
			return err
		}
		src, err := a.opener().Open(args[0])
		if err != nil {
			return err
		}
		defer src.Close()
		out := console.NewLazyWriter(a.stdout)
		matches, err := a.show(cmd.Context(), src, q, wanted, newDocumentWriter(out, output))
		if flushed := out.Close(); err == nil {
			err = flushed
		}
		switch {
		case err != nil || matches > 0:
		case len(wanted.Spans) > 0:
			a.say("nothing of what was named matches %q", q)
		default:
			a.say("%s", input.Nothing(src, q))
		}
		return err
	}))
	filterFlag(cmd, &text)
	outputFlag(cmd, &output, "yaml", "json")
	a.typeFlags(cmd)
	return cmd
}

// show writes the entries that were selected, all if there is no selection, and
// that a query wants. It counts those, and misses those that are not there.
func (a *cli) show(ctx context.Context, src *input.Source, q *input.Query, of *input.Selection, write func(*check.Change, *render.Document) error) (matches uint64, err error) {
	done := a.opener().Reading(src)
	q.Documents.Beside = src.Notes().Of
	spans, all := filter.Everything(), len(of.Spans) == 0
	if !all {
		spans = filter.Union(of.Spans)
		spans[len(spans)-1].Last = filter.NoLimit // the gap that explains what is missing may be told of later
	}
	missing := ""
	defer func() {
		if missing != "" {
			a.say("%s is not built in: with --descriptors FILE it has the names of its fields", render.Safe(missing))
		}
	}()
	narrowed, err := src.Aim(of.Spans)
	if err != nil {
		return 0, err
	}
	if narrowed {
		defer func() {
			if matches == 0 && err != nil && !of.Done() { // what explains what is missing may be in another segment
				if err = src.Whole(); err == nil {
					matches, err = a.show(ctx, src, q, of.Anew(), write)
				}
			}
		}()
	}
	err = q.In(ctx, src, spans, func(e *session.Entry, c *check.Change, is bool) error {
		done.Advance()
		if selected := all || of.Meet(e); selected && is {
			matches++
			done.End()
			doc, err := q.Documents.Document(e, c)
			if err != nil {
				return err
			}
			for _, name := range doc.Missing() {
				missing = cmp.Or(missing, name)
			}
			if err := write(c, doc); err != nil {
				return err
			}
		}
		if !all && of.Done() {
			return input.ErrEnough
		}
		return nil
	})
	done.End()
	if err == nil && !all {
		if !of.Done() {
			of.Seen.Last = max(of.Seen.Last, src.All().LastSeq)
		}
		err = of.Missing(src.Name)
	}
	return matches, err
}

// newDocumentWriter writes documents one after the other.
func newDocumentWriter(w io.Writer, form string) func(*check.Change, *render.Document) error {
	first := true
	return func(_ *check.Change, doc *render.Document) error {
		if !first && form == "yaml" {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		first = false
		text := doc.YAML
		if form == "json" {
			text = doc.JSON
		}
		_, err := w.Write(text())
		return err
	}
}

func missingSeq(args []string) error {
	if len(args) == 0 {
		return misused("show needs a SOURCE and a SEQ").Hint("xdsproxy show %s 12", input.Last)
	}
	return misused("show needs a SEQ: which entry of %q?", args[0]).
		Hint("xdsproxy watch %s lists them", shellWord(args[0])).
		Hint("--filter shows what it wants of all entries")
}
