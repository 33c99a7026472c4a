package main

import (
	"github.com/xdsproxy/xdsproxy/internal/export"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
)

// bisecting is a bisection as it was asked for.
type bisecting struct {
	*app
	source                string
	seq                   session.Seq // 0: the last NACK
	listen, node          string
	timeout, wait         durationValue
	output, script, write string

	security proxy.Pair // as in replaying
	facts    recorder.Facts
}

// longerThanEnvoy is more than the 15 seconds that an Envoy waits for what a
// resource needs before it answers without.
const longerThanEnvoy = 20 * time.Second

func newBisect(a *app) *cobra.Command {
	b := &bisecting{app: a, timeout: durationValue(longerThanEnvoy), wait: durationValue(time.Minute), output: "table"}
	cmd := a.command(&cobra.Command{
		Use:   "bisect SOURCE [SEQ] --listen ADDR",
		Short: "Find the resources for which a client rejects a response",
		Long: `Finds the resources for which a client rejects a response: a NACK may name but
the first of them. A live client that connects to --listen is given parts of the
response, and its verdicts narrow the suspects down to the smallest sets that it
still rejects: each bad resource, and those that are only bad together.

SEQ is the NACK or the response that it rejects, as watch prints them; the last
NACK without one. The client first gets what the recorded one had accepted by
then, of every type, and gets that again after each trial. Suspected is what the
response changes of it. Resources that the client names, or that violate a
constraint of their type, are tried first; nothing is concluded without a trial.
For each culprit that takes about as many trials as the suspects can be halved.

The client is the recorded one by its node id, or any if the recording has but
one, or the one that --node names. It may go away and come back. Masked private
keys are replaced by fresh ones. Clusters whose endpoints were not recorded get
none, so that no client waits for them. TLS with the client is asked for by the
flags that run has for it. Answers to polls cannot be bisected.

The smallest conversation in which they are rejected is written to --script,
and with the contents as a recording beside it, which is small enough for a bug
report. xdsproxy replay --as server plays that to a fresh client, which rejects
them again. It has what a client has to be given before it asks for them;
secrets in it are masked.

The exit code is 0 if culprits were found, 11 if the client accepts the response
now, 1 if it does not answer or contradicts itself. On standard error the first
line says that it is ready.`,
		Example: `# Which of 500 clusters does this Envoy reject?
xdsproxy bisect bug.xdsp --listen 127.0.0.1:18000
# then point an Envoy at 127.0.0.1:18000

# The NACK at entry 412; keep the trials, too
xdsproxy bisect bug.xdsp 412 --listen 127.0.0.1:18000 -w trials.xdsp

# What it found, once more
xdsproxy replay bug-411.xdsp --as server --listen 127.0.0.1:18000

# The rejections of a recording
xdsproxy watch bug.xdsp --no-follow --filter kind:nack`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		if err := b.check(args); err != nil {
			return err
		}
		return b.run(cmd.Context())
	})
	f := cmd.Flags()
	f.Var(textValue{&b.listen, "ADDR"}, "listen", "where the client is to connect; port 0 picks one")
	f.Var(textValue{&b.node, "ID"}, "node", "node id of the live client to try, if not the recorded one")
	f.Var(&b.timeout, "timeout", "how long the client may take for an answer")
	f.Var(&b.wait, "wait", "how long the client may take to connect, also after it went away")
	f.Var(textValue{&b.script, "FILE"}, "script", "write the smallest conversation to this file, and with contents to one that ends with .xdsp, which must not exist yet (default: SOURCE-SEQ.xds in the working directory)")
	f.VarPF(textValue{&b.write, "FILE"}, "write", "w", "record the trials to this file, which must not exist yet")
	outputFlag(cmd, &b.output, "table", "json")
	a.useGroups(cmd, groupClientTLS, groupTLS)
	return cmd
}

func (b *bisecting) check(args []string) error {
	switch {
	case len(args) == 0:
		return misused("bisect needs a SOURCE").Hint("xdsproxy bisect %s --listen 127.0.0.1:18000", input.Last)
	case len(args) > 2:
		return misused("one SEQ at a time, but got %d", len(args)-1)
	case args[0] == "-":
		return misused("bisect reads its SOURCE twice, so it cannot be a pipe").Hint("write the recording to a file first")
	case b.listen == "":
		return misused("no --listen: where is the client to connect?").Hint("--listen 127.0.0.1:18000, or port 0 for a free one")
	case strings.HasSuffix(b.script, ".xdsp"):
		return misused("--script %s: a script is text, and this is the name of a recording", shellWord(b.script)).
			Hint("--script %s writes the script, and the recording beside it", shellWord(strings.TrimSuffix(b.script, ".xdsp")+input.ScriptSuffix))
	case b.timeout == 0 || b.wait == 0:
		return misused("--timeout and --wait cannot be 0s: no client answers at once")
	}
	b.source = args[0]
	if len(args) == 2 {
		n, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil || n == 0 {
			return misused("SEQ %q: not the number of an entry", args[1]).Hint("xdsproxy watch %s --no-follow --filter kind:nack lists the rejections", shellWord(b.source))
		}
		b.seq = session.Seq(n)
	}
	at, err := proxy.ParseAddr(b.listen)
	if err != nil {
		return misused("--listen: %w", err)
	}
	b.security, err = b.oneSide(true, at)
	return err
}

func (b *bisecting) run(ctx context.Context) error {
	if b.script != "" {
		for _, path := range []string{b.script, besideScript(b.script)} {
			if _, err := os.Lstat(path); err == nil {
				return failed("cannot write what is found: %s exists", path).
					Hint("nothing is overwritten; name another file with --script FILE, or remove this one")
			}
		}
	}
	r, err := b.read(ctx)
	if err != nil {
		return err
	}
	found, err := b.play(ctx, r)
	if found == nil {
		return err
	}
	files, written := b.writeFound(found)
	if found.Found() || found.Accepted || found.Fickle != nil {
		if printed := b.print(found, files); printed != nil {
			return printed
		}
	}
	switch {
	case err != nil:
		return unfinished(err, found)
	case written != nil:
		return written
	case found.Fickle != nil:
		return failed("the client contradicts itself: it accepts and rejects the same resources")
	case found.Accepted:
		return errDifferences
	}
	return nil
}

// read reads what is to be bisected.
func (b *bisecting) read(ctx context.Context) (*replay.Rejection, error) {
	r, err := replay.ReadRejection(ctx, b.seq, func() (replay.Source, func() error, error) {
		src, err := b.opener().Open(b.source)
		if err != nil {
			return nil, nil, err
		}
		b.source, b.facts = src.Name, src.Header() // so that @last stays the same
		src.Pieces()
		done := b.opener().Reading(src)
		return advancing{src, done, func(*session.Entry) {}}, func() error { done.End(); return src.Close() }, nil
	})
	none, is := errors.AsType[*replay.NotRejectedError](err)
	switch {
	case is:
		f := failed("%w", err)
		if none.Polls > 0 {
			f.Hint("a poll does not say that it rejects; xdsproxy check %s finds the signs of it", shellWord(b.source))
		} else if len(none.There) == 0 {
			f.Hint("%s has no NACK of a response that it also has", b.source)
		}
		for _, t := range none.There[max(0, len(none.There)-5):] {
			f.Hint("%s", render.Safe(t.Sentence()))
		}
		return nil, f
	case err != nil:
		if f, is := errors.AsType[*failure](err); is {
			return nil, f
		}
		return nil, input.Unreadable(err)
	}
	return r, nil
}

// play gives the live client its trials.
func (b *bisecting) play(ctx context.Context, r *replay.Rejection) (*replay.Bisection, error) {
	var found *replay.Bisection
	wire := &replaying{app: b.app, write: b.write, listen: b.listen, security: b.security}
	_, err := wire.relayed(ctx, nil, func(ctx context.Context, _ *replay.Plan, between *relay) (*replay.Report, error) {
		l, shown, err := wire.bind(between)
		if err != nil {
			return nil, err
		}
		b.tell("listening on %s, bisecting entry %d of %s: %s of %s, %s of them suspected",
			addressOf(shown), r.Response, b.source, render.Count(r.Resources, "resource", "resources"), r.Type, render.Number(len(r.Suspects)))
		b.announceSecurity([]proxy.Pair{b.security})
		line := &trialLine{app: b.app, of: len(r.Suspects), on: !bool(b.config.quiet) && console.IsTerminal(b.stderr), next: time.Now().Add(saidEvery)}
		defer line.wipe()
		found, err = replay.Bisect(ctx, l, r, replay.BisectOptions{
			Client: b.node, Timeout: time.Duration(b.timeout), Wait: time.Duration(b.wait),
			Say:      func(text string) { line.wipe(); b.say("%s", text) },
			Progress: line.show,
		})
		return nil, err
	})
	return found, err
}

// trialLine is the line of a terminal that says how far the search is. Elsewhere
// it is a new line now and then.
type trialLine struct {
	*app
	of   int
	on   bool
	next time.Time // when the next line is due
}

const saidEvery = 5 * time.Second

func (l *trialLine) show(trial, left int) {
	text := fmt.Sprintf("trial %s, %s of %s suspects left", render.Number(trial), render.Number(left), render.Number(l.of))
	if l.on {
		fmt.Fprintf(l.stderr, "\r\x1b[K%s", text)
	} else if now := time.Now(); now.After(l.next) {
		l.next = now.Add(saidEvery)
		l.say("%s", text)
	}
}

func (l *trialLine) wipe() {
	if l.on {
		fmt.Fprint(l.stderr, "\r\x1b[K")
	}
}

// hintLacks names what a client may wait for.
func hintLacks(f *failure, lacks []string) {
	if len(lacks) > 0 {
		f.Hint("%s", render.Safe("it may wait for what it asked for and the recording does not have: "+strings.Join(lacks, ", ")))
	}
}

// unfinished words why a search was given up.
func unfinished(err error, found *replay.Bisection) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if f, is := errors.AsType[*failure](err); is {
		return f
	}
	f := failed("%w", err)
	absent, isAbsent := errors.AsType[*replay.AbsentError](err)
	silent, isSilent := errors.AsType[*replay.SilentError](err)
	switch {
	case isAbsent && !absent.Came:
		f.Hint("start the client first, or give it more time with --wait")
	case isAbsent:
		hintLacks(f, absent.Lacks)
		f.Hint("-w FILE records what it says")
	case isSilent:
		hintLacks(f, silent.Lacks)
		f.Hint("give it more time with --timeout; -w FILE records what it says")
	}
	if _, is := errors.AsType[*replay.BaseRejectedError](err); is {
		f.Hint("begin with an earlier NACK: another client, or another version of it, may not accept what came before")
	}
	if len(found.Culprits) > 0 {
		f.Hint("what was found until then is printed")
	}
	return f
}

// foundFiles are what was written of the smallest conversation; "" for nothing.
type foundFiles struct {
	Script    string `json:"script,omitempty"`
	Recording string `json:"recording,omitempty"`
}

// writeFound writes the smallest conversation, if there is one: as a script, and
// with its contents as a recording.
func (b *bisecting) writeFound(found *replay.Bisection) (w foundFiles, err error) {
	if !found.Told() {
		return w, nil
	}
	path := b.script
	for n := 1; path == "" || b.script == ""; n++ {
		path = scriptName(b.source, found.Response, n)
		_, one := os.Lstat(path)
		_, other := os.Lstat(besideScript(path))
		if one != nil && other != nil || n == 1000 {
			break
		}
	}
	if err := export.Script(b.console(), path, found.Entries()); err != nil {
		return w, err
	}
	w.Script = path
	if err := b.recordingTo(besideScript(path), found); err != nil {
		return w, err
	}
	w.Recording = besideScript(path)
	return w, nil
}

// recordingTo writes the smallest conversation as a recording. Secrets in it are
// masked as they are in the source, and if they are not, unless the settings say
// that they are to be kept.
func (b *bisecting) recordingTo(path string, found *replay.Bisection) error {
	o := store.Copy(!b.facts.Masked && !bool(b.config.keepSecrets))
	to, err := recorder.NewCopy(path, recorder.Facts{Created: time.Now(), Program: build.Name(), Masked: b.facts.Masked}, o)
	if err != nil {
		return console.Overwriting("cannot write the recording", err)
	}
	for e := range found.Entries() {
		if err := to.Add(&e); err != nil {
			_ = to.Discard()
			return failed("%w", err)
		}
	}
	if _, err := to.Close(); err != nil {
		return failed("%w", err)
	}
	return nil
}

// besideScript is bug-412.xdsp for bug-412.xds.
func besideScript(path string) string { return strings.TrimSuffix(path, input.ScriptSuffix) + ".xdsp" }

// scriptName is bug-412.xds for entry 412 of bug.xdsp; the second of that name
// is bug-412-2.xds.
func scriptName(source string, seq session.Seq, n int) string {
	base := filepath.Base(source)
	name := fmt.Sprintf("%s-%d", strings.TrimSuffix(base, filepath.Ext(base)), seq)
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	return name + input.ScriptSuffix
}
