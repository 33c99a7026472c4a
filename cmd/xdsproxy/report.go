package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/report"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui"
)

// reporting is a report as it was asked for.
type reporting struct {
	*export
	yes  bool
	dump string // file or URL of a config_dump
}

func newReport(a *cli) *cobra.Command {
	r := &reporting{export: &export{cli: a, form: string(convert.Markdown)}}
	cmd := a.command(&cobra.Command{
		Use:   "report SOURCE [SEQ|RULE...] [-w FILE.zip] [--yes]",
		Short: "Make a zip to attach to an issue",
		Long: `Writes a zip that proves what was found: the part of the recording from which
check finds it again, a report for the text of the issue, one to look at in a
browser, the findings as JSON, how to see it happen again, and a list of the
names that can be read in it.

Without more it takes the gravest findings of the rules. RULE takes those of a
rule, SEQ those that are about an entry; the entry is in the part even if no
rule has found anything.

Secrets are masked, those of a recording with --keep-secrets, too. Before
anything is written, what was masked is counted, and every name, host and
address that remains readable is listed. On a terminal you are asked; elsewhere
--yes is needed. A file that exists is never overwritten.`,
		Example: `# What is wrong, ready to attach
xdsproxy report @last

# One rule, one entry
xdsproxy report gw.xdsp nack-received -w nack.zip
xdsproxy report gw.xdsp 4107 -w 4107.zip --yes

# To somebody who is not to know what is called how
xdsproxy report gw.xdsp --pseudonyms -w bug.zip

# Of a running proxy
xdsproxy report tcp:127.0.0.1:18001 -w now.zip`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) })
	cmd.Flags().VarP(settings.NewText(&r.path, "FILE"), "write", "w", "write to this file, which must not exist yet; without it, the name of the SOURCE with -report.zip")
	cmd.Flags().Var(settings.NewText(&r.dump, "FILE|URL"), "config-dump", "put what an Envoy holds into it: a saved /config_dump, or the address of it")
	cmd.Flags().BoolVar(&r.pseudonymous, "pseudonyms", false, "put stand-ins in the place of all names, as export --pseudonyms does")
	cmd.Flags().Var(settings.NewText(&r.keyFile, "FILE"), "key-file", "the key of --pseudonyms, by which names come back; without it, FILE.zip.key")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "write without asking")
	return cmd
}

// reportTo writes a report of the gravest findings, which nobody is asked about.
func (a *cli) reportTo(ctx context.Context, source, path string) error {
	r := &reporting{export: &export{cli: a, form: string(convert.Markdown), path: path}, yes: true}
	return r.run(ctx, []string{source})
}

func (r *reporting) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return misused("report needs a SOURCE").Hint("xdsproxy report %s", input.Last)
	case args[0] == "-":
		return misused("what comes through a pipe can be read only once, and a report reads it several times").Hint("write it to a file first")
	}
	switch {
	case r.pseudonymous && r.dump != "":
		return misused("--config-dump keeps its names: leave it out, or --pseudonyms")
	case r.keyFile != "" && !r.pseudonymous:
		return misused("--key-file is the key of --pseudonyms")
	}
	r.name = args[0]
	rules, seqs, err := reportArguments(args[1:])
	if err != nil {
		return err
	}
	if _, live := input.ViewerAddr(r.name); !live {
		if r.name, err = input.Path(r.name); err != nil {
			return err
		}
	}
	if r.path == "" {
		base := filepath.Base(r.name)
		r.path = strings.TrimSuffix(base, filepath.Ext(base)) + "-report.zip"
	}
	r.lean()
	o, err := r.options(ctx, rules, seqs)
	if err != nil {
		return err
	}
	if o.Dump, err = r.configDump(ctx); err != nil {
		return err
	}
	if r.pseudonymous {
		return r.renamedReport(ctx, o, rules, seqs)
	}
	return r.gather(ctx, o)
}

// renamedReport is made of the part that proves the findings, after its names were
// replaced: nothing else of the zip has ever seen a name.
func (r *reporting) renamedReport(ctx context.Context, o *report.Options, rules []string, seqs []session.Seq) error {
	if r.keyFile == "" {
		r.keyFile = r.path + keyEnding
	}
	key, err := loadKey(r.keyFile)
	if err != nil {
		return err
	}
	dir, err := privateDir()
	if err != nil {
		return failed("cannot make a directory for the report: %w", err)
	}
	defer os.RemoveAll(dir)
	named, renamed := filepath.Join(dir, "named.xdsp"), filepath.Join(dir, "session.xdsp")
	if _, _, err := convert.Prove(named, o.Facts, r.until(ctx), &o.Proof, o.Cut); err != nil {
		return unwrittenPart(err)
	}
	x := &export{cli: r.cli, name: named, form: formRecording, inside: r.inside}
	if done, err := x.renamed(ctx, key, renamed, r.path); err != nil || done.Entries == 0 {
		return err
	}
	if err := key.Save(r.keyFile); err != nil {
		return failed("cannot write the key file %s: %w", r.keyFile, err)
	}
	own := &reporting{export: &export{cli: r.cli, name: renamed, form: r.form, path: r.path, inside: r.inside}, yes: r.yes}
	of, err := own.options(ctx, rules, seqs)
	if err != nil {
		return err
	}
	if err := own.gather(ctx, of); err != nil {
		return err
	}
	r.say("names come back with: xdsproxy reveal %s TEXT; keep that file to yourself", shellWord(r.keyFile))
	return nil
}

// exportFinding writes a finding of the screen: a zip, or a recording in which the
// rule finds it again.
func (a *cli) exportFinding(ctx context.Context, source string, e tui.ExportRequest) error {
	r := &reporting{export: &export{cli: a, name: source, form: string(convert.Markdown), path: e.Path, inside: true}, yes: true}
	o, err := r.options(ctx, []string{e.Rule}, nil)
	if err != nil {
		return err
	}
	o.Proof.Findings = report.About(o.Proof.Findings, e.Seqs)
	if e.Form == "zip" {
		return r.gather(ctx, o)
	}
	done, _, err := convert.Prove(r.path, o.Facts, r.until(ctx), &o.Proof, o.Cut)
	if err != nil {
		return unwrittenPart(err)
	}
	r.say("wrote %s to %s, %s; check finds %s in it", render.Count(done.Entries+done.Context, "entry", "entries"), r.path, render.Size(done.Bytes), e.Rule)
	return nil
}

// gather makes the zip and writes it.
func (r *reporting) gather(ctx context.Context, o *report.Options) error {
	b, err := report.Gather(ctx, r.until(ctx), o)
	if err != nil {
		return unwrittenPart(err)
	}
	defer b.Close()
	if b.Done.Entries == 0 {
		return failed("%q has no entry %s", r.name, render.SomeOf(numbers(o.Proof.Seqs)))
	}
	return r.write(b, o)
}

// options finds out what is to be proved. It reads the source once.
func (r *reporting) options(ctx context.Context, rules []string, seqs []session.Seq) (*report.Options, error) {
	var w walked
	if err := r.walk(ctx, &w, true, func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
		return nil, err
	}
	o := &report.Options{Program: build.Line() + ", " + runtime.GOOS + "/" + runtime.GOARCH, Facts: w.facts}
	o.Proof.Judge = r.config.Judging()
	o.Proof.Judge.Timers = r.timers(w.src)
	o.Cut.Record = recorder.Options{Labels: store.NewLabels().Of}
	if !o.Facts.Masked {
		masker := decode.NewMasker()
		o.Cut.Record.Masked, o.Cut.Record.Transform, o.Cut.Record.Content = true, masker.Transform, masker.Content
	}
	if o.Facts.Program == "" {
		o.Facts.Program = build.Name()
	}
	o.Proof.Findings = report.Choose(check.Fold(w.checker.Findings()), rules, seqs)
	o.Proof.Seqs = seqs
	switch {
	case len(seqs) > 0:
		o.Chosen = "entry " + render.SomeOf(numbers(seqs))
	case len(o.Proof.Findings) > 0:
	case len(rules) > 0:
		return nil, failed("no finding of %s in %q", strings.Join(rules, " or "), r.name).Hint("xdsproxy check %s --info", shellWord(r.name))
	default:
		return nil, failed("the rules found no error and no warning in %q", r.name).Hint("name the entries that it is about: xdsproxy report %s SEQ", shellWord(r.name))
	}
	return o, nil
}

// maxDump bounds a config_dump, in bytes.
const maxDump = 256 << 20

// configDump reads the config_dump that was named, and masks it.
func (r *reporting) configDump(ctx context.Context) ([]byte, error) {
	var text []byte
	var err error
	switch {
	case r.dump == "":
		return nil, nil
	case strings.HasPrefix(r.dump, "http://"), strings.HasPrefix(r.dump, "https://"):
		text, err = get(ctx, r.dump, maxDump)
	default:
		text, err = r.console().ReadFile(r.dump, maxDump)
	}
	if err != nil {
		return nil, failed("cannot read the config_dump: %w", err)
	}
	if !decode.NewMasker().JSON(text) {
		return nil, failed("the config_dump in %q is no JSON", r.dump).Hint("curl -s http://127.0.0.1:9901/config_dump?include_eds > config_dump.json")
	}
	return text, nil
}

// get reads what an address answers.
func get(ctx context.Context, url string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %s", render.Size(most))
	}
	return text, err
}

func numbers(seqs []session.Seq) (out []string) {
	for _, s := range seqs {
		out = append(out, strconv.FormatUint(uint64(s), 10))
	}
	return out
}

// reportArguments tells rules from entries.
func reportArguments(args []string) (rules []string, seqs []session.Seq, err error) {
	var all []string
	for _, rule := range check.Rules() {
		all = append(all, rule.ID)
	}
	for _, arg := range args {
		if n, err := strconv.ParseUint(arg, 10, 63); err == nil && n > 0 {
			seqs = append(seqs, session.Seq(n))
			continue
		}
		if !slices.Contains(all, arg) {
			f := misused("%q is neither the number of an entry nor a rule", arg)
			if best := nearest.Name(arg, all); best != "" {
				f.Hint("did you mean %s?", best)
			}
			return nil, nil, f
		}
		rules = append(rules, arg)
	}
	return rules, seqs, nil
}

// until walks over the source up to what options has seen of it: a running proxy
// goes on.
func (r *reporting) until(ctx context.Context) convert.Walk {
	last := r.last
	return func(visit convert.Visit) error {
		var w walked
		return r.walk(ctx, &w, true, func(e *session.Entry, c *check.Change, _ bool) error {
			if e.Seq > last {
				return input.ErrEnough
			}
			return visit(e, c, false)
		})
	}
}

// shownNames is how many names of a kind are listed before it is asked. All of them
// are in the zip.
const shownNames = 40

// write shows what will leave, asks, and writes.
func (r *reporting) write(b *report.Bundle, o *report.Options) error {
	for _, f := range o.Proof.Findings {
		r.tell("%s %s: %s", f.Severity, f.Rule.ID, f.Rule.Title)
	}
	r.tell("%s, and %s more that explain them", render.Count(b.Done.Entries, "entry", "entries"), render.Number(b.Done.Context))
	for l := range strings.Lines(b.Survey.Text(shownNames)) {
		r.tell("%s", strings.TrimSuffix(l, "\n"))
	}
	if !r.yes {
		if !console.IsTerminal(r.stdin) || !console.IsTerminal(r.stderr) {
			return misconfigured("a report leaves this machine, and nobody can be asked here").Hint("--yes writes it without asking")
		}
		fmt.Fprintf(r.stderr, "Write this to %s? [y/N] ", r.path)
		answer, _ := bufio.NewReader(r.stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			r.say("nothing was written")
			return nil
		}
	}
	size, err := b.Write(r.path)
	if errors.Is(err, fs.ErrExist) {
		return overwriting("cannot write the report", err)
	}
	if err != nil {
		return failed("cannot write the report: %w", err)
	}
	r.say("wrote %s, %s", r.path, render.Size(size))
	if size > report.UsualLimit {
		r.warn("most trackers take %s; name fewer entries or one RULE, and it gets smaller", render.Size(report.UsualLimit))
	}
	r.say("report.md in it is for the text of the issue, the zip for its attachment")
	return nil
}
