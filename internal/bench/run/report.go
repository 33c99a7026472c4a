package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The figures of a sample that tables show.
func cpu(s sample) float64     { return s.CPUPerResponse }
func lifeCPU(s sample) float64 { return s.LifeCPU }
func pushP50(s sample) float64 { return s.PushP50 }
func peakMB(s sample) float64  { return s.PeakMB }

// table answers questions about the samples of all rounds.
type table []sample

func (t table) of(load, relay string) table {
	var out table
	for _, s := range t {
		if s.Load == load && s.Relay == relay {
			out = append(out, s)
		}
	}
	return out
}

func (t table) values(f func(sample) float64) []float64 {
	out := make([]float64, len(t))
	for i, s := range t {
		out[i] = f(s)
	}
	slices.Sort(out)
	return out
}

func (t table) median(f func(sample) float64) float64 { return median(t.values(f)) }

// ratio is the median of the ratios within each round: what slowed a whole
// round down cancels out. It is 0 if there is nothing to compare with.
func (t table) ratio(load, relay, than string, f func(sample) float64) float64 {
	return median(t.ratios(load, relay, than, f))
}

// ratios has one for each round in which both were measured, sorted.
func (t table) ratios(load, relay, than string, f func(sample) float64) []float64 {
	return ratios(t.of(load, relay), t.of(load, than), f)
}

func ratios(mine, theirs table, f func(sample) float64) []float64 {
	var out []float64
	for _, s := range mine {
		i := slices.IndexFunc(theirs, func(o sample) bool { return o.Round == s.Round })
		if i >= 0 && f(theirs[i]) > 0 {
			out = append(out, f(s)/f(theirs[i]))
		}
	}
	slices.Sort(out)
	return out
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func writeReport(w io.Writer, machine string, rounds int, loads []load, relays []relay, t table) {
	fmt.Fprintf(w, "%s. Rounds: %d, interleaved; each figure is the median, with the least and the most in brackets; ratios are medians of the ratios within a round.\n", machine, rounds)
	for _, l := range loads {
		if l.curve == "" {
			writeLoad(w, l, relays, t)
		}
	}
	for _, c := range curves() {
		writeCurve(w, c, relays, t)
	}
	writeTasks(w, t)
	writeGoals(w, t)
}

func writeLoad(w io.Writer, l load, relays []relay, t table) {
	fmt.Fprintf(w, "\n### %s\n\n`xdsload %s`\n\n", l.title, strings.Join(l.args(), " "))
	fmt.Fprintf(w, "| relay | CPU per response | / nginx | / envoy | / haproxy | / %[1]s | CPU, whole life | push p50 | / fastest proxy | / %[1]s | peak memory | damaged | recorded |\n", floor)
	fmt.Fprintln(w, strings.Repeat("|---", 13)+"|")
	for _, r := range relays {
		mine := t.of(l.name, r.name)
		if len(mine) == 0 {
			continue
		}
		row := []string{r.name}
		if r.name == direct {
			row = append(row, "", "", "", "", "", "")
		} else {
			row = append(row, spread(mine.values(cpu)))
			for _, than := range []string{"nginx", "envoy", "haproxy", floor} {
				row = append(row, times(t.ratio(l.name, r.name, than, cpu)))
			}
			row = append(row, micros(mine.median(lifeCPU)))
		}
		row = append(row, spread(mine.values(pushP50)), times(t.overFastest(l.name, r.name)), times(t.ratio(l.name, r.name, floor, pushP50)))
		if r.name == direct {
			row = append(row, "")
		} else {
			row = append(row, fmt.Sprintf("%.0f MB", slices.Max(mine.values(peakMB))))
		}
		row = append(row, damaged(mine), recorded(mine))
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

func damaged(t table) string {
	var n int64
	for _, s := range t {
		n += s.Damaged + s.StreamsFailed
	}
	return fmt.Sprint(n)
}

// recorded shows the worst round.
func recorded(t table) string {
	worst := ""
	var missing int64 = -1
	for _, s := range t {
		if r := s.Recording; r != nil && r.Expected-r.Messages > missing {
			missing = r.Expected - r.Messages
			worst = fmt.Sprintf("%d of %d, %.1f MB", r.Messages, r.Expected, float64(r.FileSize)/1e6)
		}
	}
	return worst
}

func times(f float64) string {
	if f == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", f)
}

// spread is that of times in microseconds.
func spread(sorted []float64) string { return spreadOf(sorted, " us") }

func spreadOf(sorted []float64, unit string) string {
	if len(sorted) == 1 {
		return digits(sorted[0]) + unit
	}
	return fmt.Sprintf("%s%s (%s-%s)", digits(median(sorted)), unit, digits(sorted[0]), digits(sorted[len(sorted)-1]))
}

func micros(f float64) string { return digits(f) + " us" }

// digits keeps three significant ones; the rest is noise.
func digits(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// machine says where and with what the figures were measured.
func machine(ctx context.Context) string {
	parts := []string{time.Now().UTC().Format(time.DateOnly), fmt.Sprintf("%d CPUs", runtime.NumCPU())}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(cpuinfo); m != nil {
		parts = append(parts, string(m[1]))
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	parts = append(parts, strings.TrimSpace(runtime.GOOS+" "+string(release)), runtime.Version())
	version := regexp.MustCompile(`\d+\.\d+\.\d+`)
	for _, c := range [][]string{{"haproxy", "-v"}, {"nginx", "-v"}, {envoyProgram, "--version"}} {
		if out, err := exec.CommandContext(ctx, c[0], c[1]).CombinedOutput(); err == nil {
			parts = append(parts, filepath.Base(c[0])+" "+version.FindString(string(out)))
		}
	}
	return strings.Join(parts, ", ")
}

const (
	begin = "<!-- bench: begin -->\n"
	end   = "<!-- bench: end -->\n"
)

// splice replaces what stands between the two comments of a Markdown file.
func splice(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, foot, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the tables: it needs the lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(head+begin+text+end+foot), 0o644)
}
