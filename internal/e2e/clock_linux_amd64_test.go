package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wallClock is that of another process. A Go program asks the vDSO for the time:
// no library that is loaded before others comes between. So its vDSO is changed.
type wallClock struct {
	mem    *os.File
	offset int64 // where in it stands by how much the clock is wrong
}

// clockCode is clock_gettime by the system call, plus an offset for
// CLOCK_REALTIME, in whole seconds. The offset follows the code.
var clockCode = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz ret
	0x48, 0x8b, 0x15, 0x0c, 0x00, 0x00, 0x00, // mov rdx, [rip+12]
	0x48, 0x01, 0x16, // add [rsi], rdx
	0xc3, // ret
}

// clockRoom is how much the code takes at the end of the vDSO, which is empty.
const (
	clockRoom     = 64
	clockOffsetAt = 30
)

// takeClock takes the wall clock of a child.
func takeClock(t *testing.T, pid int) *wallClock {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	must(err)
	var from, to int64
	for l := range strings.Lines(string(maps)) {
		if strings.HasSuffix(l, "[vdso]\n") {
			_, err := fmt.Sscanf(l, "%x-%x", &from, &to)
			must(err)
		}
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	must(err)
	t.Cleanup(func() { mem.Close() })
	image := make([]byte, to-from)
	_, err = mem.ReadAt(image, from)
	must(err)
	file, err := elf.NewFile(bytes.NewReader(image))
	must(err)
	symbols, err := file.DynamicSymbols()
	must(err)
	var entry, end int64
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			entry, end = from+int64(s.Value), from+int64(s.Value+s.Size)
		}
	}
	code := to - clockRoom
	if entry == 0 || !bytes.Equal(image[len(image)-clockRoom:], make([]byte, clockRoom)) {
		t.Fatal("this vDSO cannot be changed")
	}
	_, err = mem.WriteAt(clockCode, code)
	must(err)
	jump := []byte{0xe9, 0, 0, 0, 0} // jmp
	binary.LittleEndian.PutUint32(jump[1:], uint32(code-entry-int64(len(jump))))
	// Nobody may be in what is overwritten.
	for {
		must(syscall.Kill(pid, syscall.SIGSTOP))
		if !within(t, pid, entry, end) {
			break
		}
		must(syscall.Kill(pid, syscall.SIGCONT))
		time.Sleep(time.Millisecond)
	}
	_, err = mem.WriteAt(jump, entry)
	must(err)
	must(syscall.Kill(pid, syscall.SIGCONT))
	return &wallClock{mem, code + clockOffsetAt}
}

// within says whether a thread of a stopped process is at such an address.
func within(t *testing.T, pid int, from, to int64) bool {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		at := func() (words []string) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/syscall", pid, task.Name()))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Fields(string(text))
		}
		words := at()
		for ; words[0] == "running"; words = at() { // it has not stopped yet
			time.Sleep(time.Millisecond)
		}
		var pc int64
		if _, err := fmt.Sscanf(words[len(words)-1], "0x%x", &pc); err != nil {
			t.Fatal(err)
		}
		if pc >= from && pc < to {
			return true
		}
	}
	return false
}

// set makes the clock wrong by so much, in whole seconds.
func (c *wallClock) set(t *testing.T, wrong time.Duration) {
	t.Helper()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(int64(wrong/time.Second)))
	if _, err := c.mem.WriteAt(b[:], c.offset); err != nil {
		t.Fatal(err)
	}
}
