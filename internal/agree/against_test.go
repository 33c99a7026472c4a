package agree

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/gobuild"
	"github.com/xdsproxy/xdsproxy/recorder"
)

var against = flag.String("against", "", "an xdsproxy of before, which is to find the same as that of this tree in every recording, script and conversation")

// What the rules find is the same as before, entry by entry. It is asked when a
// change is to make the program faster and nothing else.
func TestAgainst(t *testing.T) {
	if *against == "" {
		t.Skip("there is no program to compare with: see -against")
	}
	old, err := exec.LookPath(*against)
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(old) {
		t.Fatalf("-against %s: a test runs in its own directory, so give the whole path", old)
	}
	here := filepath.Join(t.TempDir(), "xdsproxy")
	if err := gobuild.Program(exec.Command("go", "build", "-o", here, "../../cmd/xdsproxy")); err != nil {
		t.Fatal(err)
	}
	t.Run("recordings", func(t *testing.T) { sameOf(t, old, here, everyRecording(t)) })
	t.Run("scripts", func(t *testing.T) { sameOf(t, old, here, glob(t, "*/*.xds", 900)) })
	t.Run("conversations", func(t *testing.T) { sameOf(t, old, here, written(t, all())) })
}

// sameOf compares what two programs say, of several files at a time.
func sameOf(t *testing.T, old, here string, files []string) {
	var mu sync.Mutex
	var differ []string
	var wg sync.WaitGroup
	todo := make(chan string)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for file := range todo {
				for _, command := range [][]string{
					{"check", "--enable", "all", "--info", "--fail-on", "info", "-o", "json", file},
					{"watch", "--no-follow", "-o", "jsonl", file}, // what each entry is, and what was found with it
				} {
					if d := firstDifference(says(old, command), says(here, command)); d != "" {
						mu.Lock()
						differ = append(differ, strings.Join(command, " ")+": "+d)
						mu.Unlock()
					}
				}
			}
		})
	}
	for _, file := range files {
		todo <- file
	}
	close(todo)
	wg.Wait()
	slices.Sort(differ)
	for _, d := range differ[:min(len(differ), 20)] {
		t.Error(d)
	}
	t.Logf("%d files, %d answers that differ", len(files), len(differ))
}

// says is what a program prints, and how it ends.
func says(exe string, command []string) []byte {
	var out, complaint bytes.Buffer
	cmd := exec.Command(exe, command...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 10 { // 10: there are findings
			out.Write(complaint.Bytes())
		}
		fmt.Fprintln(&out, err)
	}
	return out.Bytes()
}

func firstDifference(before, now []byte) string {
	if bytes.Equal(before, now) {
		return ""
	}
	was, is := strings.Split(string(before), "\n"), strings.Split(string(now), "\n")
	for i := range max(len(was), len(is)) {
		var a, b string
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n  before: %s\n  now:    %s", i+1, a, b)
		}
	}
	return "the ends of lines"
}

// everyRecording is every one in the tree.
func everyRecording(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(d.Name()) > 2 && d.Name()[0] == '.' {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".xdsp" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	return files
}

// written are conversations that are made up, as recordings.
func written(t *testing.T, n int) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for seed := uint64(1); seed <= uint64(n); seed++ {
		entries, err := play(makeUp(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		file := filepath.Join(dir, fmt.Sprintf("seed-%d.xdsp", seed))
		c, err := recorder.NewCopy(file, recorder.Facts{Created: entries[0].Time}, recorder.Options{Transform: chunk.NewSplitter().Transform})
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			if err := c.Add(&entries[i]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if _, err := c.Close(); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
