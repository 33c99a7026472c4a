package export

import (
	"cmp"
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

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/report"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/session"
)

// Report is a report as it was asked for.
type Report struct {
	*Export
	Yes  bool   // nobody is asked
	Dump string // file or URL of a config_dump
}

// Run finds out what is to be proved, and writes it.
func (r *Report) Run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return console.Misused("report needs a SOURCE").Hint("xdsproxy report %s", input.Last)
	case args[0] == "-", input.IsNamedPipe(args[0]):
		return console.Misused("what comes through a pipe can be read only once, and a report reads it several times").Hint("write it to a file first")
	}
	switch {
	case r.Pseudonymous && r.Dump != "":
		return console.Misused("--config-dump keeps its names: leave it out, or --pseudonyms")
	case r.KeyFile != "" && !r.Pseudonymous:
		return console.Misused("--key-file is the key of --pseudonyms")
	}
	r.Name = args[0]
	rules, seqs, err := reportArguments(args[1:])
	if err != nil {
		return err
	}
	if _, live := input.ViewerAddr(r.Name); !live && !input.IsURL(r.Name) {
		if r.Name, err = input.Path(r.Name); err != nil {
			return err
		}
	}
	if r.Path == "" {
		r.Path = report.FileOf(r.Name)
	}
	if err := apart(r.KeyFile, r.Path); err != nil {
		return err
	}
	if _, err := os.Lstat(r.Path); err == nil {
		return console.Overwriting("cannot write the report", &fs.PathError{Op: "open", Path: r.Path, Err: fs.ErrExist})
	}
	r.lean()
	o, err := r.options(ctx, rules, seqs)
	if err != nil {
		return err
	}
	if o.Dump, err = r.configDump(ctx); err != nil {
		return err
	}
	if r.Pseudonymous {
		return r.renamedReport(ctx, o, rules, seqs)
	}
	return r.gather(ctx, o)
}

// renamedReport is made of the part that proves the findings, after its names were
// replaced: nothing else of the zip has ever seen a name.
func (r *Report) renamedReport(ctx context.Context, o *report.Options, rules []string, seqs []session.Seq) error {
	if r.KeyFile == "" {
		r.KeyFile = r.Path + keyEnding
	}
	key, err := loadKey(r.KeyFile)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "xdsproxy-*") // with mode 0700
	if err != nil {
		return console.Failed("cannot make a directory for the report: %w", err)
	}
	defer os.RemoveAll(dir)
	named, renamed := filepath.Join(dir, "named.xdsp"), filepath.Join(dir, "session.xdsp")
	if _, _, err := convert.Prove(ctx, named, o.Facts, r.until(ctx), &o.Proof, o.Cut); err != nil {
		return unwrittenPart(err)
	}
	x := &Export{Opener: r.Opener, Judge: r.Judge, Name: named, Form: FormRecording, Inside: r.Inside}
	if done, err := x.renamed(ctx, key, renamed, r.Path); err != nil || done.Entries == 0 {
		return err
	}
	if err := key.Save(r.KeyFile); err != nil {
		return console.Failed("cannot write the key file %s: %w", r.KeyFile, err)
	}
	own := &Report{Export: &Export{Opener: r.Opener, Judge: r.Judge, Name: renamed, Path: r.Path, Inside: r.Inside}, Yes: r.Yes}
	of, err := own.options(ctx, rules, seqs)
	if err != nil {
		return err
	}
	if err := own.gather(ctx, of); err != nil {
		return err
	}
	r.Say("names come back with: xdsproxy reveal %s TEXT; keep that file to yourself", console.ShellWord(r.KeyFile))
	return nil
}

// Finding writes what proves findings of a rule: a zip, or a recording in which the
// rule finds it again.
func (r *Report) Finding(ctx context.Context, rule string, seqs []session.Seq, zip bool) error {
	o, err := r.options(ctx, []string{rule}, nil)
	if err != nil {
		return err
	}
	o.Proof.Findings = report.About(o.Proof.Findings, seqs)
	if zip {
		return r.gather(ctx, o)
	}
	done, _, err := convert.Prove(ctx, r.Path, o.Facts, r.until(ctx), &o.Proof, o.Cut)
	if err != nil {
		return unwrittenPart(err)
	}
	r.Say("wrote %s to %s, %s; check finds %s in it", render.Count(done.Entries+done.Context, "entry", "entries"), r.Path, render.Size(done.Bytes), rule)
	return nil
}

// gather makes the zip and writes it.
func (r *Report) gather(ctx context.Context, o *report.Options) error {
	b, err := report.Gather(ctx, r.until(ctx), o)
	if err != nil {
		return unwrittenPart(err)
	}
	defer b.Close()
	if b.Done.Entries == 0 {
		return console.Failed("%q has no entry %s", r.Name, render.SomeOf(numbers(o.Proof.Seqs), 8))
	}
	return r.write(ctx, b, o)
}

// options finds out what is to be proved. It reads the source once.
func (r *Report) options(ctx context.Context, rules []string, seqs []session.Seq) (*report.Options, error) {
	r.Form = string(convert.Markdown)
	var w walked
	if err := r.walk(ctx, &w, true, func(*session.Entry, *check.Change, bool) error { return nil }); err != nil {
		return nil, err
	}
	o := &report.Options{Program: build.Line() + ", " + runtime.GOOS + "/" + runtime.GOARCH, Facts: w.facts}
	o.Proof.Judge = r.Judge
	o.Proof.Judge.Timers = r.timers(w.src)
	o.Cut.Record = store.Copy(!o.Facts.Masked)
	var err error
	if o.Cut.Record.Descriptors, err = r.embedded(); err != nil {
		return nil, err
	}
	o.Facts.Program = cmp.Or(o.Facts.Program, build.Name())
	found := check.Fold(w.checker.Findings())
	o.Proof.Findings = report.Choose(found, rules, seqs)
	if none := report.Unfound(found, rules); len(none) > 0 {
		return nil, console.Failed("no finding of %s in %q", strings.Join(none, " or "), r.Name).Hint("xdsproxy check %s --info", console.ShellWord(r.Name))
	}
	o.Proof.Seqs, o.Proof.Way = seqs, report.MostWay
	switch {
	case len(seqs) > 0:
		o.Chosen = "entry " + render.SomeOf(numbers(seqs), 8)
	case len(o.Proof.Findings) > 0:
	default:
		return nil, console.Failed("the rules found no error and no warning in %q", r.Name).Hint("name the entries that it is about: xdsproxy report %s SEQ", console.ShellWord(r.Name))
	}
	return o, nil
}

// maxDump bounds a config_dump, in bytes.
const maxDump = 256 << 20

// configDump reads the config_dump that was named, and masks it.
func (r *Report) configDump(ctx context.Context) ([]byte, error) {
	var text []byte
	var err error
	switch {
	case r.Dump == "":
		return nil, nil
	case strings.HasPrefix(r.Dump, "http://"), strings.HasPrefix(r.Dump, "https://"):
		text, err = get(ctx, r.Dump, maxDump)
	default:
		text, err = r.ReadFile(r.Dump, maxDump)
	}
	if err != nil {
		return nil, console.Failed("cannot read the config_dump: %w", err)
	}
	if len(text) > maxDump {
		return nil, console.Failed("cannot read the config_dump: %q has more than %d bytes", r.Dump, maxDump)
	}
	if !mask.New().JSON(text) {
		return nil, console.Failed("the config_dump in %q is no JSON", r.Dump).Hint("curl -s http://127.0.0.1:9901/config_dump?include_eds > config_dump.json")
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
			f := console.Misused("%q is neither the number of an entry nor a rule", arg)
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
func (r *Report) until(ctx context.Context) convert.Walk {
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
func (r *Report) write(ctx context.Context, b *report.Bundle, o *report.Options) error {
	if r.Inside { // on a screen, where readable.txt is not in sight
		return r.writeZip(b)
	}
	for _, f := range o.Proof.Findings {
		r.Tell("%s %s: %s", f.Severity, f.Rule.ID, f.Rule.Title)
	}
	r.Tell("%s, and %s more that explain them", render.Count(b.Done.Entries, "entry", "entries"), render.Number(b.Done.Context))
	for l := range strings.Lines(b.Survey.Text(shownNames)) {
		r.Tell("%s", strings.TrimSuffix(l, "\n"))
	}
	if !r.Yes {
		if !console.IsTerminal(r.Stdin) || !console.IsTerminal(r.Stderr) {
			return console.Misconfigured("a report leaves this machine, and nobody can be asked here").Hint("--yes writes it without asking")
		}
		fmt.Fprintf(r.Stderr, "Write this to %s? [y/N] ", r.Path)
		if yes, err := report.Agreed(ctx, r.Stdin); err != nil || !yes {
			r.Say("nothing was written")
			return err
		}
	}
	return r.writeZip(b)
}

func (r *Report) writeZip(b *report.Bundle) error {
	size, err := b.Write(r.Path)
	if errors.Is(err, fs.ErrExist) {
		return console.Overwriting("cannot write the report", err)
	}
	if err != nil {
		return console.Failed("cannot write the report: %w", err)
	}
	r.Say("wrote %s, %s", r.Path, render.Size(size))
	if size > report.UsualLimit {
		r.Warn("most trackers take %s; name fewer entries or one RULE, and it gets smaller", render.Size(report.UsualLimit))
	}
	r.Say("report.md in it is for the text of the issue, the zip for its attachment; readable.txt lists what can be read in it")
	return nil
}
