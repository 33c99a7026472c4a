package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// againstLimit is how much CPU per response a change may cost: this many times
// that of the program before it, as the median of all rounds.
const againstLimit = 1.03

// oldSuffix is added to the name of a relay whose program is the older one.
const oldSuffix = "-old"

// hinted is an error that knows what may help.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// findOld fails before anything is built when there is no such program.
func findOld(old string) (string, error) {
	exe, err := filepath.Abs(old) // no PATH is searched for it
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath(exe); err != nil {
		var e *exec.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", hinted{
			fmt.Errorf("-against cannot run %s: %w", old, err),
			"in a checkout of an older commit, go build -o OLD ./cmd/xdsproxy makes one",
		}
	}
	return exe, nil
}

// ownRelays are those that an older xdsproxy can take the place of.
func ownRelays() []relay {
	return slices.DeleteFunc(slices.Clone(relays), func(r relay) bool { return r.pkg != ownPackage })
}

// withOld puts the older program before each relay. It goes first in the first
// round, so that one that does not start is found at once.
func withOld(exe string, all []relay) [][]relay {
	var pairs [][]relay
	for _, r := range all {
		r.grows = true
		o := relay{name: r.name + oldSuffix, announces: r.announces, grows: true}
		o.command = oldCommand(exe, r)
		o.hint = "OLD has to be an xdsproxy that knows all flags the new one is started with"
		pairs = append(pairs, []relay{o, r})
	}
	return pairs
}

func oldCommand(exe string, r relay) func(*bench, string, string, string) (*exec.Cmd, error) {
	return func(b *bench, dir, listen, upstream string) (*exec.Cmd, error) {
		cmd, err := r.command(b, dir, listen, upstream)
		if err != nil {
			return nil, err
		}
		cmd.Path, cmd.Args[0] = exe, exe
		return cmd, nil
	}
}

// copyPrograms copies both programs to where they run from, in the same way.
// More is resident of a file that the linker has just written: without this a
// program had a peak 6 % above that of its own twin.
func (b *bench) copyPrograms(old string) (string, error) {
	own := b.bin("xdsproxy")
	if err := copyProgram(own, own+".copy"); err != nil {
		return "", err
	}
	if err := copyProgram(old, own+oldSuffix); err != nil {
		return "", err
	}
	return own + oldSuffix, os.Rename(own+".copy", own)
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// made says from which commit and with which Go a program was built, as far as
// it knows.
func made(exe string) string {
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return "unknown"
	}
	return info.Main.Version + " " + info.GoVersion
}

func writeAgainst(w io.Writer, machine, newMade, oldMade string, rounds int, loads []load, all []relay, t table) {
	fmt.Fprintf(w, "%s. Old: %s. New: %s. Rounds: %d, in each of which the two programs take turns, with the order swapped from round to round; ", machine, oldMade, newMade, rounds)
	fmt.Fprint(w, "figures are medians, and new/old is the median of the ratios within a round, with the least and the most in brackets.\n")
	for _, r := range all {
		fmt.Fprintf(w, "\n### %s\n\n", againstTitle(r))
		fmt.Fprintln(w, "| load | CPU per response, old | new | new/old | CPU, whole life, new/old | push p50, new/old | peak memory, new/old |")
		fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
		for _, l := range loads {
			if len(t.of(l.name, r.name)) == 0 {
				continue
			}
			row := []string{l.name, spread(t.of(l.name, r.name+oldSuffix).values(cpu)), spread(t.of(l.name, r.name).values(cpu))}
			for _, figure := range []func(sample) float64{cpu, lifeCPU, pushP50, peakMB} {
				row = append(row, spreadRatios(t.ratios(l.name, r.name, r.name+oldSuffix, figure)))
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		}
	}
	fmt.Fprintf(w, "\n%s\n", againstVerdict(loads, all, t))
}

func againstTitle(r relay) string {
	if r.name == recordOnly {
		return "Recording alone: `run --headless --no-check -w FILE`"
	}
	return "Recording, with rules: `run --headless -w FILE`"
}

// againstVerdict is one line. It judges the ratio as measured, not as rounded,
// and tells how sure that is.
func againstVerdict(loads []load, all []relay, t table) string {
	var parts []string
	for _, r := range all {
		for _, l := range loads {
			name := l.name
			if r.name == recordOnly {
				name += " without rules"
			}
			ratios := t.ratios(l.name, r.name, r.name+oldSuffix, cpu)
			if len(ratios) == 0 {
				parts = append(parts, name+" not measured")
				continue
			}
			m, is := median(ratios), "no"
			if m <= againstLimit {
				is = "yes"
			}
			sure := "too few rounds to tell"
			if low, high, ok := confidence(ratios); ok {
				sure = fmt.Sprintf("95 %%: %.2f to %.2f", low, high)
			}
			parts = append(parts, fmt.Sprintf("%s %s (%.3f, %s)", name, is, m, sure))
		}
	}
	return fmt.Sprintf("CPU per response at most %.2f of old: %s", againstLimit, strings.Join(parts, "; "))
}

// confidence is the narrowest range between two of the values, equally far from
// either end, that holds the true median with a probability of 95 %: each value
// is above it or below it as a coin falls. That takes at least six values.
func confidence(sorted []float64) (low, high float64, ok bool) {
	n := len(sorted)
	tail, term := 0.0, math.Pow(0.5, float64(n)) // the probability of at most k heads in n tosses, and of k
	for k := range n / 2 {
		if tail += term; tail > 0.025 {
			break
		}
		low, high, ok = sorted[k], sorted[n-1-k], true
		term *= float64(n-k) / float64(k+1)
	}
	return low, high, ok
}

func spreadRatios(sorted []float64) string {
	switch len(sorted) {
	case 0:
		return ""
	case 1:
		return times(sorted[0])
	}
	return fmt.Sprintf("%s (%s-%s)", times(median(sorted)), times(sorted[0]), times(sorted[len(sorted)-1]))
}
