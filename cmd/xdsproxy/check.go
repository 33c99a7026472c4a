package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/across"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/foreign"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/session"
)

// failOn are the values of --fail-on, the strictest first.
var failOn = []string{"info", "warning", "error", "never"}

func newCheck(a *cli) *cobra.Command {
	output, threshold, zip, info, strict := "table", "error", "", false, false
	var judge ruleFlags
	cmd := a.command(&cobra.Command{
		Use:   "check SOURCE... [-o table|json|sarif|junit] [--fail-on SEVERITY]",
		Short: "Hold recordings against the rules of the protocol",
		Long: `Reads recordings and prints what went wrong in them: who broke which rule, when,
and with which messages. What has one cause is one finding with a count, and
where several clients have it, with all of them.

Ends with exit code 10 if there is a finding of the severity that --fail-on
names, or a graver one. xdsproxy explain RULE says what a finding means and what
to do about it; xdsproxy explain lists the rules.

Of a directory, or a URL that ends in /, all recordings below it are judged,
each as a session of its own and several at once. What has one cause on many
proxies is one finding with all of them. What cannot be read is told, and
counted as unread; with --strict, or if none can be read, that ends with exit
code 12, too.

A conversation script (.xds) is judged by the times that it gives itself. A file
of Envoy's filesystem subscriptions (.yaml .json .pb_text .pb) is judged, too:
whether Envoy can read it, and the resources in it. Several such files are
judged together, as those of one client.

What is over, such as streams that ended, is remembered in --memory-past. When
that was not enough the summary says so: what needed it was not judged.

--strict ends with exit code 12 if entries are missing in a recording, since
what is missing was not judged.`,
		Example: `xdsproxy check @last

# In a build: fail on warnings, with a report for the build server
xdsproxy check session.xdsp --fail-on warning -o junit > report.xml

# Everything, the rules that are off by default included
xdsproxy check session.xdsp --enable all --info

# A day of a fleet
xdsproxy check s3://archive/cluster=prod/date=2026-11-26/

# The files of an Envoy without a management server, before it reads them
xdsproxy check lds.yaml cds.yaml secrets.yaml --fail-on warning`,
		ValidArgsFunction: completeSources,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused("check needs a SOURCE").Hint("xdsproxy check %s", input.Last)
		}
		switch {
		case zip != "" && len(args) > 1:
			return misused("--report is about one SOURCE, but got %d", len(args))
		case zip != "" && input.IsMany(args[0]):
			return misused("--report is about one recording").Hint("xdsproxy info %s lists them", shellWord(args[0]))
		case zip != "" && (args[0] == "-" || input.IsNamedPipe(args[0])):
			return misused("what comes through a pipe can be read only once, and --report reads it several times").Hint("write it to a file first")
		}
		options, err := judge.options()
		if err != nil {
			return err
		}
		judging := a.config.Judging()
		options.Past, options.Static, options.Types = judging.Past, judging.Static, judging.Types
		heap.Lean()
		report := render.NewReport()
		var damage error
		parts := together(args)
		for _, names := range parts {
			label := ""
			if len(parts) > 1 && len(names) == 1 {
				label = names[0]
			}
			judge := a.judge
			if input.IsMany(names[0]) {
				judge = func(ctx context.Context, names []string, _ string, o check.Options, report *render.Report) error {
					return a.judgeMany(ctx, names[0], o, report, strict)
				}
			}
			if err := judge(cmd.Context(), names, label, options, report); err != nil {
				if !input.Damaged(err) && !across.Incomplete(err) {
					return err
				}
				damage = err // what could be read was judged
			}
		}
		if err := a.printReport(report, output, strings.Join(args, " "), threshold, info, options.Rules); err != nil {
			return err
		}
		switch grave := slices.ContainsFunc(report.Findings, func(f render.Finding) bool { return fails("warning", f.Severity) }); {
		case zip == "":
		case damage != nil:
			a.say("%s was not written: the recording is damaged; xdsproxy export FILE --repair makes a copy of what is readable", zip)
		case grave:
			if err := a.reportTo(cmd.Context(), args[0], zip, options); err != nil {
				return err
			}
		default:
			a.say("no error and no warning: %s was not written", zip)
		}
		if damage == nil && strict && report.Summary.Gaps > 0 {
			damage = incomplete(report.Summary.Gaps)
		}
		if damage != nil {
			return damage
		}
		for _, f := range report.Findings {
			if fails(threshold, f.Severity) {
				return errFindings
			}
		}
		return nil
	})
	judge.addTo(cmd)
	a.bootstrapFlag(cmd)
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	cmd.Flags().BoolVar(&info, "info", false, "print notes, too, which are else only counted")
	cmd.Flags().Var(settings.NewText(&zip, "FILE.zip"), "report", "if there are errors or warnings, write a zip to attach to an issue, as xdsproxy report --yes does")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 12 if entries are missing")
	cmd.Flags().Var(settings.NewChoice(&threshold, failOn...), "fail-on", "the least severity that makes the exit code 10")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(failOn, cobra.ShellCompDirectiveNoFileComp))
	outputFlag(cmd, &output, "table", "json", "sarif", "junit")
	return cmd
}

// errFindings ends a command whose findings were printed.
var errFindings = &failure{Err: errors.New("findings"), Code: console.ExitFindings, Silent: true}

func fails(threshold, severity string) bool {
	return threshold != "never" && slices.Index(failOn, severity) >= slices.Index(failOn, threshold)
}

// together puts the files that are judged as one session into one list, where
// the first of them stands. Every other source is alone.
func together(args []string) [][]string {
	var out [][]string
	files := -1
	for _, name := range args {
		switch {
		case !input.IsFile(name):
			out = append(out, []string{name})
		case files < 0:
			files = len(out)
			out = append(out, []string{name})
		default:
			out[files] = append(out[files], name)
		}
	}
	return out
}

// judge holds one source against the rules, or several files at once.
func (a *cli) judge(ctx context.Context, names []string, label string, o check.Options, report *render.Report) error {
	var src *input.Source
	var err error
	if input.IsFile(names[0]) {
		src, err = input.OpenFiles(names)
	} else {
		src, err = a.opener().Open(names[0])
	}
	if err != nil {
		return err
	}
	defer src.Close()
	o.Timers.Fixed = o.Timers.Fixed || src.Script
	checker := check.NewChecker(o)
	err = a.judgeEach(ctx, src, checker, func(*session.Entry, *check.Change) error { return nil })
	if err != nil && !input.Damaged(err) {
		return err
	}
	before := len(report.Findings)
	report.Add(label, checker.Findings(), checker.Summary())
	if src.Line != nil {
		render.AddLines(report.Findings[before:], src.Line)
	}
	return err
}

// stopGrace is how long a command that judges may go on when it is asked to end.
const stopGrace = time.Second

// judgeEach reads a source to its end, and ends the program if it shall end and the
// entry at hand takes longer than a grace. Entries are judged whole, and a single
// one can be large enough for seconds; a command that prints only what it has found
// at the end has nothing to save.
func (a *cli) judgeEach(ctx context.Context, src *input.Source, step input.Stepper, v input.Visit) error {
	var judged atomic.Uint64
	over := make(chan struct{})
	defer close(over)
	forget := context.AfterFunc(a.ctx, func() {
		select {
		case <-over:
		case <-time.After(stopGrace):
			a.warn("stopped while the entry after %d was judged, which takes long; the findings are not printed", judged.Load())
			os.Exit(console.ExitInterrupted)
		}
	})
	defer forget()
	return a.opener().Each(ctx, src, step, func(e *session.Entry, c *check.Change) error {
		judged.Store(uint64(e.Seq))
		return v(e, c)
	})
}

func (a *cli) printReport(r *render.Report, form, source, threshold string, info bool, rules []*check.Rule) error {
	switch form {
	case "json":
		return a.console().JSON(r)
	case "sarif":
		return foreign.SARIF(a.stdout, r, build.Read().Version, source, rules)
	case "junit":
		return foreign.JUnit(a.stdout, r, source, rules, func(severity string) bool { return fails(threshold, severity) })
	}
	wide := a.console().Columns()
	_, err := io.WriteString(a.stdout, r.Text(a.console().Style(), wide, info))
	if rule := r.Foremost(info); err == nil && wide > 0 && rule != "" {
		a.say("what it means and what to do: xdsproxy explain %s", rule)
	}
	return err
}

// ruleFlags say which rules run, and how long they wait.
type ruleFlags struct {
	enable, disable []string
	timers          check.Timers
}

// leastTimer is the shortest wait that makes sense: a rule that waits for less
// looks again after each such moment of a long silence.
const leastTimer = time.Millisecond

// timerFlag is how long a rule waits for something.
type timerFlag struct {
	name string
	p    *time.Duration
	help string
}

func (r *ruleFlags) timerFlags() []timerFlag {
	return []timerFlag{
		{"flight", &r.timers.Flight, "how long messages that cross may be on their way"},
		{"ack", &r.timers.ACK, "how long a response may wait for its ACK or NACK"},
		{"warm", &r.timers.Warm, "the same for clusters, which may have to warm up first"},
		{"dne", &r.timers.DNE, "after how long a name that was not sent does not exist"},
		{"loop", &r.timers.Loop, "three resends after a NACK within this are a loop"},
		{"push", &r.timers.Push, "three needless pushes within this are too many"},
		{"rejoin", &r.timers.Rejoin, "how long a reconnected client may take to ask for all types"},
		{"retro", &r.timers.Retro, "how far back to look for what came too early"},
	}
}

// addTo adds the flags of check.
func (r *ruleFlags) addTo(cmd *cobra.Command) {
	r.timers = check.DefaultTimers()
	r.addRules(cmd.Flags())
	for _, t := range r.timerFlags() {
		f := cmd.Flags().VarPF((*settings.Duration)(t.p), t.name, "", t.help)
		f.Annotations = map[string][]string{settings.GroupKey: {"Timer"}}
	}
	for _, name := range []string{"enable", "disable"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeRules)
	}
}

func (r *ruleFlags) addRules(flags *pflag.FlagSet) {
	flags.StringSliceVar(&r.enable, "enable", nil, "also run `RULES` that are off by default; all for every rule")
	flags.StringSliceVar(&r.disable, "disable", nil, "do not run `RULES`; all for none but those enabled")
}

func (r *ruleFlags) options() (check.Options, error) {
	rules, unknown := check.Select(r.enable, r.disable)
	if unknown != "" {
		return check.Options{}, unknownRule(unknown)
	}
	if len(rules) == 0 {
		return check.Options{}, misused("no rule is left to run").Hint("leave out --disable, or name fewer rules")
	}
	for _, t := range r.timerFlags() {
		if *t.p > 0 && *t.p < leastTimer {
			return check.Options{}, misused("--%s %s is too short: it is at least %s", t.name, *t.p, leastTimer)
		}
	}
	return check.Options{Rules: rules, Timers: r.timers}, nil
}

func ruleIDs() []string {
	var ids []string
	for _, r := range check.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func unknownRule(id string) error {
	f := misused("there is no rule %q", id)
	if best := nearest.Name(id, ruleIDs()); best != "" {
		return f.Hint("did you mean %s?", best)
	}
	return f.Hint("xdsproxy explain lists the rules")
}

func completeRules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, r := range check.Rules() {
		out = append(out, fmt.Sprintf("%s\t%s", r.ID, r.Title))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
