package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fold"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

func newWatch(a *cli) *cobra.Command {
	var text string
	output, noFollow, noCheck := "text", false, false
	cmd := a.command(&cobra.Command{
		Use:   "watch [SOURCE] [--filter FILTER] [-o text|jsonl] [--no-follow]",
		Short: "Print a line for each entry of a recording, live or finished",
		Long: `Prints a recording as it was seen: one line for each message, stream and
connection. A recording that is still being written is followed until its
writer has let go of it. So is a running proxy; if the connection to it is lost,
watch gets another and goes on where it was.

--files shows what happens to the files of Envoy's filesystem subscriptions in a
directory, until ctrl+c, and records nothing: xdsproxy help files.

Lines for people leave out what tells them nothing: heartbeats of the log,
response headers that merely say 200, resets that merely confirm the end of a
stream. -o jsonl has every entry, one JSON object a line.

Lines that only repeat those above are folded into one that counts: rounds of
the same response and the same answer, as in a NACK loop, and REST polls that
bring nothing new. On a terminal the line that counts is written anew while it
is the last one. Elsewhere there is one after 1, 10, 100 times and so on, and
one at the end. --no-fold prints every line.

What a rule has proved stands below the line that proved it: ! an error, ~ a
warning, i a note. What other clients have of the same cause is summed up, in
one line a second at most. With a filter by client or type the rest is not read,
and the rules do not look, unless the filter asks for findings (rule:, sev:).

Of a directory, or a URL that ends in /, it prints the entries of all recordings
below it in the order of time, each with its proxy, and does not follow them.

--filter says which entries are wanted; xdsproxy help filters explains how.
watch goes straight to numbers and times, however large the recording is.`,
		Example: `# What the proxy sees right now
xdsproxy watch

# Rejected configuration, and why
xdsproxy watch session.xdsp -o jsonl | jq 'select(.what == "NACK") | .error'

# What one client was sent, and what it rejected
xdsproxy watch --filter 'client:gw-0 kind:resp,delta,nack'

# What happened around a quarter to one, in a recording of any size
xdsproxy watch session.xdsp --filter at:12:44..12:46

# A proxy in a pod, through kubectl port-forward; it printed the token
XDSPROXY_VIEWER_TOKEN=... xdsproxy watch 127.0.0.1:19000

# The files that an Envoy reads its configuration from
xdsproxy watch --files /etc/envoy/dynamic --envoy-bootstrap envoy.yaml

# A recording that comes through a pipe
ssh gateway cat session.xdsp | xdsproxy watch -`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		wanted, err := input.ParseQuery(text)
		if err != nil {
			return err
		}
		if len(args) == 1 && input.IsMany(args[0]) {
			if dirs, bootstrap := a.config.Files(); len(dirs) > 0 || bootstrap != "" {
				return besideFiles(args[0])
			}
			return a.watchMany(cmd.Context(), args[0], text, output, !noCheck)
		}
		src, ctx, done, err := a.watched(cmd.Context(), args)
		if err != nil {
			return err
		}
		defer done()
		src.Follow(!noFollow)
		out := console.NewLazyWriter(a.stdout)
		p := a.printer(out, output)
		if strings.Contains(text, "seq:") { // entries that are named are printed
			p.repeats = nil
		}
		if !noCheck || wanted.Needs().Findings {
			o := a.config.Judging()
			wanted.Judge = &o
		}
		err = a.watch(ctx, src, wanted, 1, p)
		if flushed := out.Close(); err == nil {
			err = flushed
		}
		return err
	})
	filterFlag(cmd, &text)
	outputFlag(cmd, &output, "text", "jsonl")
	cmd.Flags().BoolVar(&noCheck, "no-check", false, "do not hold what is read against the rules")
	cmd.Flags().BoolVar(&noFollow, "no-follow", false, "end at what is there, even if more is being written")
	a.useSettings(cmd, "memory-past", "no-fold", "files", "envoy-bootstrap", "envoy-admin", "held-interval", "held-ca", "held-token-file")
	a.typeFlags(cmd)
	return cmd
}

// watch prints the entries of a source that a query wants, from one on.
func (a *cli) watch(ctx context.Context, src *input.Source, wanted *input.Query, from session.Seq, p *printer) error {
	wanted.Table = p.table
	done, matches := a.searching(src, wanted), 0
	err := wanted.In(ctx, src, []filter.Span{{First: from, Last: filter.NoLimit}}, func(e *session.Entry, c *check.Change, is bool) error {
		done.Advance()
		if !is || e.Seq < from {
			return p.late(e.Time)
		}
		matches++
		done.End()
		if console.IsTerminal(a.stdout) {
			done = &console.Progress{} // the lines say how far it has come
		}
		return p.print(e, c)
	})
	done.End()
	if rest := p.rest(); err == nil {
		err = rest
	}
	if err == nil && matches == 0 && !wanted.Empty() {
		a.say("%s", input.Nothing(src, wanted))
	}
	return err
}

// searching is the progress of a search in what is complete: at the end of what
// still grows it would stand still.
func (a *cli) searching(src *input.Source, q *input.Query) *console.Progress {
	if src.File && !q.Empty() && console.IsTerminal(a.stderr) {
		if facts, err := src.Inspect(); err == nil && facts.Complete {
			return a.opener().Reading(src)
		}
	}
	return &console.Progress{}
}

// printer prints entries in one of the forms of watch.
type printer struct {
	w      io.Writer
	table  *render.Table // to which every entry must be shown, printed or not
	proxy  string        // of a fleet: whose entries they are, and in which recording
	source string
	jsonl  bool
	titled bool
	// explained says that the legend was printed.
	explained bool
	others    render.Others

	repeats  *repeats  // nil: each entry has its line
	last     *fold.Run // of which the last line tells, if that can be written anew
	rewrites bool
}

func (a *cli) printer(w io.Writer, form string) *printer {
	p := &printer{w: w, table: render.NewTable(a.console().Columns(), a.console().Style()), jsonl: form == "jsonl"}
	if p.rewrites = a.console().Columns() > 0 && os.Getenv("TERM") != "dumb"; !bool(a.config.NoFold) && !p.jsonl {
		p.repeats = newRepeats()
	}
	return p
}

func (p *printer) write(text string) error {
	p.last = nil
	_, err := io.WriteString(p.w, text)
	return err
}

func (p *printer) object(o any) error {
	line, err := render.JSONLine(o)
	if err == nil {
		_, err = p.w.Write(line)
	}
	return err
}

// all shows and prints an entry.
func (p *printer) all(e *session.Entry, c *check.Change) error {
	p.table.See(e, c)
	return p.print(e, c)
}

func (p *printer) print(e *session.Entry, c *check.Change) error {
	if err := p.late(e.Time); err != nil {
		return err
	}
	if folded, err := p.fold(e, c); folded || err != nil {
		return err
	}
	if p.jsonl {
		o := render.NewObject(e, c)
		o.Proxy, o.Source = p.proxy, p.source
		return p.object(o)
	}
	line := p.table.Line(e, c)
	if line == "" && len(c.Findings) == 0 {
		return nil
	}
	if !p.titled {
		line, p.titled = p.table.Head()+"\n"+line, true
	}
	if line != "" {
		line += "\n"
	}
	for i := range c.Findings {
		if f := &c.Findings[i]; !p.others.Keep(f, e.Time) {
			line += p.legend() + p.table.FindingLine(f) + "\n"
		}
	}
	return p.write(line)
}

// late prints what has waited until now.
func (p *printer) late(now time.Time) error { return p.sums(p.others.Due(now)) }

// rest prints what still waits.
func (p *printer) rest() error {
	if err := p.sums(p.others.Rest()); err != nil {
		return err
	}
	return p.finishAll()
}

// legend explains the signs of findings, once, to who sits at a terminal.
func (p *printer) legend() string {
	if p.explained || p.table.Screen() == 0 {
		return ""
	}
	p.explained = true
	return p.table.Aside("", "! an error, ~ a warning, i a note of a rule; see xdsproxy explain RULE") + "\n"
}

func (p *printer) sums(all []check.Finding) error {
	for i := range all {
		if err := p.write(p.table.SumLine(&all[i]) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
