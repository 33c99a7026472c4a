// run measures what xdsproxy costs beside other relays, in one go on one
// machine: each load of a fixed list passes through each relay, round after
// round, and the medians become a table in Markdown.
//
// It measures and reports. It does not pass or fail on a time: it fails when a
// response arrived damaged or was not recorded.
package main

import (
	"bytes"
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
	rounds := flag.Int("rounds", 3, "how often everything is measured; the table shows medians")
	loadNames := flag.String("loads", "all", "which loads: all, or some of "+names(loads))
	relayNames := flag.String("relays", "all", "which relays: all, or some of "+names(relays))
	update := flag.String("update", "", "a Markdown file to put the tables into, between its two bench comments")
	keep := flag.String("raw", "", "a file to append every single measurement to, as lines of JSON")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *rounds, *loadNames, *relayNames, *update, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, loadNames, relayNames, update, raw string) error {
	someLoads, err := pick(loads, loadNames)
	if err != nil {
		return err
	}
	someRelays, err := pick(relays, relayNames)
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
	if someRelays, err = b.prepare(ctx, someRelays); err != nil {
		return err
	}
	samples, err := b.measureAll(ctx, rounds, someLoads, someRelays)
	if err != nil {
		return err
	}
	if raw != "" {
		if err := appendRaw(raw, samples); err != nil {
			return err
		}
	}
	var report bytes.Buffer
	writeReport(&report, machine(ctx, b), rounds, someLoads, someRelays, samples)
	if _, err := io.Copy(os.Stdout, bytes.NewReader(report.Bytes())); err != nil {
		return err
	}
	if update != "" {
		if err := splice(update, report.String()); err != nil {
			return err
		}
	}
	return verdict(samples)
}

// bench holds what one run of the program shares.
type bench struct {
	dir string
	log io.Writer
}

func (b *bench) bin(name string) string { return filepath.Join(b.dir, name) }

// prepare builds our own programs and leaves out the others that are not
// installed.
func (b *bench) prepare(ctx context.Context, all []relay) ([]relay, error) {
	build := []string{"./internal/bench/xdsload"}
	var present []relay
	for _, r := range all {
		if r.program != "" {
			if _, err := exec.LookPath(r.program); err != nil {
				fmt.Fprintf(b.log, "bench: going on without %s: it is not installed\n", r.name)
				continue
			}
		}
		if r.pkg != "" {
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

// measureAll lets the relays take turns: within a round every load meets all
// of them one after the other, each round beginning with another one, so that
// what else the machine does hits none of them alone.
func (b *bench) measureAll(ctx context.Context, rounds int, loads []load, relays []relay) ([]sample, error) {
	var out []sample
	for round := range rounds {
		for _, l := range loads {
			for i := range relays {
				r := relays[(i+round)%len(relays)]
				s, err := b.measure(ctx, r, l)
				if err != nil {
					return nil, fmt.Errorf("%s through %s: %w", l.name, r.name, err)
				}
				s.Round = round
				fmt.Fprintf(b.log, "round %d  %-10s %-10s cpu %8.1f us  push p50 %8.0f us  peak %6.1f MB  damaged %d\n",
					round+1, l.name, r.name, s.CPUPerResponse, s.PushP50, s.PeakMB, s.Damaged)
				out = append(out, s)
			}
		}
	}
	return out, nil
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
