package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	// startOwn is what the program may have of its own, pages that are no
	// file's, when it has done the least that it can do.
	startOwn = 15 << 20
	// startTables is how much of that may be variables of packages. A table
	// that a package fills when the program starts is there.
	startTables = 1536 << 10
	// startHeap is what packages may allocate until main begins. Most of it
	// registers Envoy's types.
	startHeap = 7 << 20
)

var initialised = regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs$`)

// Every command pays for what packages do before main. What only some command
// needs is made when that needs it.
func TestStart(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil { // the program waits when it prints
		t.Fatal(err)
	}
	inits := newLines()
	cmd := exec.Command(program(t), "version")
	cmd.Env = append(quietEnv(t), "GODEBUG=inittrace=1", "GOMEMLIMIT=off", "GOGC=100")
	cmd.Stdout, cmd.Stderr = w, inits
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	proc := fmt.Sprintf("/proc/%d", cmd.Process.Pid)
	eventually(t, "it prints the version", func() bool { return writesToStdout(t, proc) })

	own, tables := ownMemory(t, proc)
	t.Logf("%d KB of its own, %d KB of them variables of packages", own>>10, tables>>10)
	if own > startOwn {
		t.Errorf("%d bytes of its own at the start, want %d at most", own, startOwn)
	}
	if tables > startTables {
		t.Errorf("packages wrote %d bytes of variables at the start, want %d at most: GODEBUG=inittrace=1 says which took long", tables, startTables)
	}
	total, most, which := 0, 0, ""
	for _, m := range initialised.FindAllStringSubmatch(inits.String(), -1) {
		n, _ := strconv.Atoi(m[2])
		if total += n; n > most {
			most, which = n, m[1]
		}
	}
	t.Logf("packages allocated %d KB before main, %s most of them: %d KB", total>>10, which, most>>10)
	if total == 0 || total > startHeap {
		t.Errorf("packages allocated %d bytes before main, want some and %d at most", total, startHeap)
	}
}

// writesToStdout says whether a thread of a process is in a write to it.
func writesToStdout(t *testing.T, proc string) bool {
	t.Helper()
	threads, err := filepath.Glob(proc + "/task/*/syscall")
	if err != nil || len(threads) == 0 {
		t.Fatalf("%s is gone: %v", proc, err)
	}
	for _, thread := range threads {
		said, err := os.ReadFile(thread)
		if os.IsPermission(err) {
			t.Skip("this system does not let one see in which call a process waits")
		}
		if strings.HasPrefix(string(said), fmt.Sprintf("%d 0x1 ", unix.SYS_WRITE)) {
			return true
		}
	}
	return false
}

// ownMemory is how many bytes a process has that are no file's, and how many of
// these are variables of packages: the writable parts of the program, and what
// follows them in memory.
func ownMemory(t *testing.T, proc string) (all, variables int64) {
	t.Helper()
	maps, err := os.ReadFile(proc + "/smaps")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Readlink(proc + "/exe")
	if err != nil {
		t.Fatal(err)
	}
	end, ours := "", false
	for _, l := range strings.Split(string(maps), "\n") {
		f := strings.Fields(l)
		if len(f) < 2 {
			continue
		}
		if from, to, is := strings.Cut(f[0], "-"); is { // a mapping begins
			if ours = len(f) > 5 && f[5] == program || len(f) == 5 && from == end; ours {
				end = to
			}
		} else if f[0] == "Anonymous:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			all += n << 10
			if ours {
				variables += n << 10
			}
		}
	}
	if variables == 0 {
		t.Fatal("the variables of the program were not found")
	}
	return all, variables
}
