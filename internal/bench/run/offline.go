package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// offline is the name that -loads knows all tasks by.
const offline = "offline"

// task is something that a command does with a recording that is there.
type task struct {
	name    string
	title   string
	each    string   // what the CPU time is counted by
	n       int      // how many there are
	make    []string // flags of bigrecording
	doers   []doer
	command []string // of xdsproxy
	// count finds in the output how many were dealt with.
	count func(out []byte) (int, error)
}

// doer is a program that does a task.
type doer struct {
	name    string
	command []string // in place of xdsproxy's
}

// The yardsticks of reading, both internal/bench/readonly.
const (
	reading      = "reading"
	decompresses = "decompressing"
)

const fleetEntries, fewer, million = 600_000, 250_000, 1_000_000

func tasks() []task {
	script := func(n int) task {
		return task{
			name: "script-" + strconv.Itoa(n), title: "`export -o script` of one message with " + thousands(n) + " resources", each: "resource", n: n,
			make: []string{"-resources", strconv.Itoa(n)}, command: []string{"export", "-o", "script"},
			count: func(out []byte) (int, error) { return bytes.Count(out, []byte(".svc.cluster.local")), nil },
		}
	}
	return []task{
		{
			name: "check", title: "`check` of a fleet's recording of " + thousands(fleetEntries) + " entries", each: "entry", n: fleetEntries,
			make: []string{"-entries", strconv.Itoa(fleetEntries)}, command: []string{"check", "--fail-on", "never", "-o", "json"},
			doers: []doer{{reading, []string{"readonly"}}, {decompresses, []string{"readonly", "-zstd"}}},
			count: entriesChecked,
		},
		script(fewer),
		script(million),
	}
}

func entriesChecked(out []byte) (int, error) {
	var report struct {
		Summary struct{ Entries int }
	}
	err := json.Unmarshal(out, &report)
	return report.Summary.Entries, err
}

// doTasks does each task once. The programs of xdsproxy are given by name.
func (b *bench) doTasks(ctx context.Context, round int, own map[string]string) ([]sample, error) {
	var out []sample
	for _, k := range tasks() {
		file, err := b.recording(ctx, k)
		if err != nil {
			return nil, err
		}
		all := slices.Clone(k.doers)
		for name, exe := range own {
			all = append(all, doer{name, append([]string{exe}, k.command...)})
		}
		slices.SortFunc(all, func(a, b doer) int { return strings.Compare(a.name, b.name) })
		first := round % len(all)
		for _, d := range slices.Concat(all[first:], all[:first]) {
			s, err := b.do(ctx, k, d, file)
			if err != nil {
				return nil, fmt.Errorf("%s by %s: %w", k.name, d.name, err)
			}
			s.Round = round
			fmt.Fprintf(b.log, "round %d  %-15s %-13s cpu %8.2f us  wall %8.2f s  peak %6.1f MB\n", round+1, k.name, d.name, s.CPUPerResponse, s.WallS, s.PeakMB)
			out = append(out, s)
		}
	}
	return out, nil
}

// recording is made once, and kept for the rounds that follow.
func (b *bench) recording(ctx context.Context, k task) (string, error) {
	file := filepath.Join(b.dir, k.name+".xdsp")
	if exists(file) {
		return file, nil
	}
	cmd := exec.CommandContext(ctx, b.bin("bigrecording"), append(slices.Clone(k.make), "-w", file)...)
	cmd.Stderr = b.log
	return file, cmd.Run()
}

// do measures the whole life of a process. What it prints goes to a file and is
// looked at afterwards.
func (b *bench) do(ctx context.Context, k task, d doer, file string) (sample, error) {
	exe := d.command[0]
	if !filepath.IsAbs(exe) {
		exe = b.bin(exe)
	}
	dir, err := os.MkdirTemp(b.dir, d.name+"-")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(dir)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return sample{}, err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, exe, append(slices.Clone(d.command[1:]), file)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = out, &said, ownEnv(dir)
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	s := sample{Load: k.name, Relay: d.name, WallS: time.Since(begin).Seconds()}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return sample{}, err
	}
	text, err := io.ReadAll(out)
	if err != nil {
		return sample{}, err
	}
	count := k.count
	if strings.HasSuffix(exe, "readonly") {
		count = func(out []byte) (int, error) { return strconv.Atoi(string(bytes.TrimSpace(out))) }
	}
	n, err := count(text)
	if err != nil {
		return sample{}, err
	}
	if n < k.n && d.name != decompresses {
		return sample{}, fmt.Errorf("it dealt with %d of %d", n, k.n)
	}
	p := cmd.ProcessState
	s.CPUPerResponse = float64((p.UserTime() + p.SystemTime()).Microseconds()) / float64(k.n)
	s.LifeCPU = s.CPUPerResponse
	if s.PeakMB = peak(p); s.PeakMB == 0 {
		return sample{}, errors.New("the system does not say how much memory it took")
	}
	return s, nil
}

func wall(s sample) float64 { return s.WallS }

func writeTasks(w io.Writer, t table) {
	for _, k := range tasks() {
		var names []string
		for _, s := range t {
			if s.Load == k.name && !slices.Contains(names, s.Relay) {
				names = append(names, s.Relay)
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		fmt.Fprintf(w, "\n### %s\n\n", k.title)
		head := []string{"", "CPU of each " + k.each, "peak memory", "wall, s"}
		for _, d := range k.doers {
			head = append(head, "/ "+d.name)
		}
		fmt.Fprintf(w, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
		for _, name := range names {
			mine := t.of(k.name, name)
			row := []string{name, spread(mine.values(cpu)), fmt.Sprintf("%.0f MB", mine.most(peakMB)), spreadOf(mine.values(wall), "")}
			for _, d := range k.doers {
				row = append(row, times(t.ratio(k.name, name, d.name, wall)))
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		}
	}
}

func offlineGoals() []goal {
	all := tasks()
	check, less, more := all[0].name, all[1], all[2]
	return []goal{
		{withRules, check, "CPU of each entry", func(t table) float64 { return t.of(check, withRules).median(cpu) }, 4, "us"},
		{withRules, check, "wall time", func(t table) float64 { return t.ratio(check, withRules, reading, wall) }, 1.3, "of " + reading},
		{withRules, more.name, "wall time", func(t table) float64 { return t.of(more.name, withRules).median(wall) }, 10, "s"},
		{withRules, more.name, "wall time of each resource", func(t table) float64 {
			return median(ratios(t.of(more.name, withRules), t.of(less.name, withRules), wall)) * float64(less.n) / float64(more.n)
		}, 1.3, "of that of " + thousands(less.n)},
	}
}
