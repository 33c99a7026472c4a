// run measures what xdsproxy costs beside other relays, in one go on one
// machine: each load of a fixed list passes through each relay, round after
// round, and the medians become a table in Markdown.
//
// It measures and reports. It does not pass or fail on a time: it fails when a
// response arrived damaged or was not recorded.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 0, "how often everything is measured; the table shows medians (default 3, with -against 10)")
	flag.StringVar(&o.loads, "loads", "", "which loads: all (the default), or some of "+loadNames()+
		"; with -against the default is "+names(loads))
	flag.StringVar(&o.relays, "relays", "", "which relays: all (the default), or some of "+names(append(slices.Clone(relays), onRequest()...))+" (the last two only if they are named)"+
		"; with -against all, or some of "+names(ownRelays())+", of which xdsproxy is the default")
	flag.StringVar(&o.against, "against", "", "measure the xdsproxy of this tree against an older one, the program in this file, and nothing else")
	flag.StringVar(&o.update, "update", "", "a Markdown file to put the tables into, between its two bench comments")
	flag.StringVar(&o.raw, "raw", "", "a file to append every single measurement to, as lines of JSON")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if h := (hinted{}); errors.As(err, &h) {
			fmt.Fprintln(os.Stderr, "bench: hint:", h.hint)
		}
		os.Exit(1)
	}
}

// options are what the flags of these names say.
type options struct {
	rounds        int
	loads, relays string
	against       string
	update, raw   string
}

func run(ctx context.Context, o options) error {
	if o.against != "" && o.update != "" {
		return errors.New("-update does not go with -against, whose tables have no place in a file")
	}
	from, byDefault, someByDefault, rounds, old := relays, "all", "all", 3, ""
	if o.against != "" {
		from, byDefault, someByDefault, rounds = ownRelays(), withRules, names(loads), 10
		exe, err := findOld(o.against)
		if err != nil {
			return err
		}
		old = exe
	}
	someLoads, withTasks, err := pickLoads(cmp.Or(o.loads, someByDefault))
	if err != nil {
		return err
	}
	if o.rounds = cmp.Or(o.rounds, rounds); o.rounds < 0 {
		return fmt.Errorf("-rounds %d measures nothing", o.rounds)
	}
	if o.relays != "" && o.relays != "all" {
		from = append(slices.Clone(from), onRequest()...)
	}
	someRelays, err := pick(from, cmp.Or(o.relays, byDefault))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "xdsproxy-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// nginx drops to another user in its worker, which has to get in here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	b := &bench{dir: dir, log: os.Stderr}
	defer b.stalled.close()
	if someRelays, err = b.prepare(ctx, someRelays); err != nil {
		return err
	}
	groups := [][]relay{someRelays}
	if o.against != "" {
		if old, err = b.copyPrograms(old); err != nil {
			return err
		}
		groups = withOld(old, someRelays)
	}
	var own map[string]string // whose tasks are measured
	if withTasks {
		own = map[string]string{withRules: "xdsproxy"}
		if old != "" {
			own[withRules+oldSuffix] = old
		}
	}
	samples, err := b.measureAll(ctx, o.rounds, someLoads, groups, own)
	if err != nil {
		return err
	}
	if o.raw != "" {
		if err := appendRaw(o.raw, samples); err != nil {
			return err
		}
	}
	var report bytes.Buffer
	if o.against != "" {
		if withTasks {
			for _, k := range tasks() {
				someLoads = append(someLoads, load{name: k.name})
			}
		}
		writeAgainst(&report, machine(ctx), made(b.bin("xdsproxy")), made(old), o.rounds, someLoads, someRelays, samples)
	} else {
		writeReport(&report, machine(ctx), o.rounds, someLoads, someRelays, samples)
	}
	if _, err := io.Copy(os.Stdout, bytes.NewReader(report.Bytes())); err != nil {
		return err
	}
	if o.update != "" {
		if err := splice(o.update, report.String()); err != nil {
			return err
		}
	}
	return verdict(samples)
}

// bench holds what one run of the program shares.
type bench struct {
	dir     string
	log     io.Writer
	stalled stalledStore
}

func (b *bench) bin(name string) string { return filepath.Join(b.dir, name) }

// prepare builds our own programs and leaves out the others that are not
// installed.
func (b *bench) prepare(ctx context.Context, all []relay) ([]relay, error) {
	build := []string{ownPackage, "./internal/bench/xdsload", "./internal/bench/bigrecording", "./internal/bench/readonly"}
	var present []relay
	for _, r := range all {
		if r.program != "" {
			if _, err := exec.LookPath(r.program); err != nil {
				fmt.Fprintf(b.log, "bench: going on without %s: it is not installed\n", r.name)
				continue
			}
		}
		if r.pkg != "" && r.pkg != ownPackage {
			build = append(build, r.pkg)
		}
		present = append(present, r)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", b.dir + "/"}, build...)...)
	cmd.Stderr = b.log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build %s: %w", strings.Join(build, " "), err)
	}
	return present, nil
}

// measureAll lets the relays of a group take turns: within a round every load
// meets all of them one after the other, each round beginning with another one,
// so that what else the machine does hits none of them alone.
func (b *bench) measureAll(ctx context.Context, rounds int, loads []load, groups [][]relay, own map[string]string) ([]sample, error) {
	var out []sample
	for round := range rounds {
		for _, l := range loads {
			for _, r := range turns(groups, round) {
				if l.curve != "" && !r.grows {
					continue
				}
				s, err := b.measure(ctx, r, l)
				if err != nil {
					return nil, fmt.Errorf("%s through %s: %w", l.name, r.name, err)
				}
				s.Round = round
				fmt.Fprintf(b.log, "round %d  %-15s %-13s cpu %8.1f us  push p50 %8.0f us  peak %6.1f MB  damaged %d\n",
					round+1, l.name, r.name, s.CPUPerResponse, s.PushP50, s.PeakMB, s.Damaged)
				out = append(out, s)
			}
		}
		if len(own) > 0 {
			did, err := b.doTasks(ctx, round, own)
			if err != nil {
				return nil, err
			}
			out = append(out, did...)
		}
	}
	return out, nil
}

// turns is the order of a round. Those of a group stay side by side.
func turns(groups [][]relay, round int) []relay {
	var out []relay
	for _, g := range groups {
		first := round % len(g)
		out = append(out, g[first:]...)
		out = append(out, g[:first]...)
	}
	return out
}

type named interface{ id() string }

func names[T named](all []T) string {
	var s []string
	for _, n := range all {
		s = append(s, n.id())
	}
	return strings.Join(s, ",")
}

func pick[T named](all []T, list string) ([]T, error) {
	if list == "all" {
		return all, nil
	}
	var out []T
	for want := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(n T) bool { return n.id() == want })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", want, names(all))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// verdict is an error if anything was damaged, lost or left unrecorded.
func verdict(samples []sample) error {
	var errs []error
	for _, s := range samples {
		if s.Damaged > 0 || s.StreamsFailed > 0 || s.Responses != s.Expected {
			errs = append(errs, fmt.Errorf("%s through %s: %d of %d responses, %d damaged, %d streams failed: %s",
				s.Load, s.Relay, s.Responses, s.Expected, s.Damaged, s.StreamsFailed, s.LastError))
		}
		if r := s.Recording; r != nil && (r.Messages != r.Expected || r.Lost > 0 || !r.Complete || r.Damaged) {
			errs = append(errs, fmt.Errorf("%s through %s: recorded %d of %d messages, %d lost, complete %t, damaged %t",
				s.Load, s.Relay, r.Messages, r.Expected, r.Lost, r.Complete, r.Damaged))
		}
	}
	return errors.Join(errs...)
}
