package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cost is the CPU time of every thread of a process and of its direct
// children, in seconds to the nanosecond, and the sum of their peak memory.
func cost(pid int) (cpu float64, peakKB int64) {
	if pid == 0 {
		return 0, 0
	}
	pids := []string{strconv.Itoa(pid)}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)); err == nil {
		pids = append(pids, strings.Fields(string(b))...)
	}
	for _, p := range pids {
		tasks, _ := filepath.Glob("/proc/" + p + "/task/*/schedstat")
		for _, t := range tasks {
			b, err := os.ReadFile(t)
			if err != nil {
				continue
			}
			if f := strings.Fields(string(b)); len(f) > 0 {
				ns, _ := strconv.ParseFloat(f[0], 64)
				cpu += ns / 1e9
			}
		}
		status, _ := os.ReadFile("/proc/" + p + "/status")
		for line := range strings.Lines(string(status)) {
			if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				if f := strings.Fields(v); len(f) > 0 {
					kb, _ := strconv.ParseInt(f[0], 10, 64)
					peakKB += kb
				}
			}
		}
	}
	return cpu, peakKB
}
