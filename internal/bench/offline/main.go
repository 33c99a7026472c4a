// offline measures what it costs to read a recording again: how long the commands
// take that read all of it, beside a reader that only decompresses it.
//
//	go run ./internal/bench/bigrecording -entries 600000 -w fleet.xdsp
//	make offline RECORDING=fleet.xdsp
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured; the table shows medians")
	program := flag.String("program", "", "the xdsproxy to measure, instead of that of this tree")
	flag.Parse()
	if flag.NArg() != 1 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "offline: it takes one recording")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *program, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "offline:", err)
		os.Exit(1)
	}
}

// work is one way to read a recording. It returns the peak memory, if it is
// that of a process of its own.
type work struct {
	name string
	do   func(file, program string) (cost, error)
}

// cost is what one of them took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes; 0: not known
}

var works = []work{
	{"decompress only", within(decompress)},
	{"read the entries", within(entries)},
	{"info --all", command("info", "--all")},
	{"status", command("status")},
	{"check", command("check", "--fail-on", "never")},
}

func run(file, program string, rounds int) error {
	facts, err := recorder.Inspect(file)
	if err != nil {
		return err
	}
	if program == "" {
		dir, err := os.MkdirTemp("", "xdsproxy-offline-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "xdsproxy")
		build := exec.Command("go", "build", "-o", program, "./cmd/xdsproxy")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("cannot build xdsproxy: %w", err)
		}
	}
	costs := make([][]cost, len(works))
	for range rounds {
		for i, w := range works {
			c, err := w.do(file, program)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			costs[i] = append(costs[i], c)
		}
	}
	fmt.Printf("%d entries, %d bytes on disk, %d of messages; medians of %d\n\n", facts.Entries, facts.Bytes, facts.MessageBytes, rounds)
	fmt.Printf("| | CPU per entry | wall | / decompress only | / read the entries | peak memory |\n|---|---|---|---|---|---|\n")
	wall := func(c cost) float64 { return c.wall.Seconds() }
	for i, w := range works {
		peak := ""
		if p := median(costs[i], func(c cost) float64 { return float64(c.peak) }); p > 0 {
			peak = fmt.Sprintf("%.0f MB", p/1e6)
		}
		took := median(costs[i], wall)
		fmt.Printf("| %s | %.2f us | %.2f s | %.2f | %.2f | %s |\n", w.name,
			median(costs[i], func(c cost) float64 { return float64(c.cpu.Microseconds()) })/float64(max(facts.Entries, 1)),
			took, took/median(costs[0], wall), took/median(costs[1], wall), peak)
	}
	return nil
}

func median(all []cost, f func(cost) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b cost) int { return cmp.Compare(f(a), f(b)) })
	return f(sorted[len(sorted)/2])
}

// within measures what is done in this process.
func within(f func(file string) error) func(string, string) (cost, error) {
	return func(file, _ string) (cost, error) {
		before, began := spent(), time.Now()
		err := f(file)
		return cost{wall: time.Since(began), cpu: spent() - before}, err
	}
}

func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// command measures a command of the program.
func command(args ...string) func(string, string) (cost, error) {
	return func(file, program string) (cost, error) {
		cmd := exec.Command(program, append(slices.Clone(args), file)...)
		cmd.Stderr = os.Stderr
		began := time.Now()
		err := cmd.Run()
		c := cost{wall: time.Since(began)}
		if s := cmd.ProcessState; s != nil {
			c.cpu = s.UserTime() + s.SystemTime()
			if u, is := s.SysUsage().(*syscall.Rusage); is {
				c.peak = int64(u.Maxrss) << 10
			}
		}
		return c, err
	}
}

// decompress reads the zstd frames of a file, and nothing in them.
func decompress(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = io.Copy(io.Discard, d)
	return err
}

// entries reads the entries of a recording, and looks at none.
func entries(file string) error {
	r, err := recorder.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	r.Pieces()
	for err == nil {
		_, err = r.Next(context.Background())
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}
