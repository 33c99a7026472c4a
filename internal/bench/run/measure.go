package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// sample is one load through one relay, once.
type sample struct {
	Round int    `json:"round"`
	Load  string `json:"load"`
	Relay string `json:"relay"`

	// What xdsload prints.
	Bytes          int     `json:"bytes_per_response"`
	Responses      int64   `json:"responses"`
	Damaged        int64   `json:"damaged"`
	StreamsFailed  int64   `json:"streams_failed"`
	LastError      string  `json:"last_error,omitempty"`
	PushP50        float64 `json:"push_us_p50"`
	PushP99        float64 `json:"push_us_p99"`
	CPUPerResponse float64 `json:"proxy_cpu_us_per_response"`
	PeakMB         float64 `json:"proxy_peak_MB"`

	WallS    float64 `json:"wall_s"`
	Expected int64   `json:"expected"` // responses
	// LifeCPU is the CPU time of the relay from its start to its end, in
	// microseconds per response: work that it put off until after the load
	// shows here and not in CPUPerResponse.
	LifeCPU   float64    `json:"life_cpu_us_per_response"`
	Recording *recording `json:"recording,omitempty"`
}

// recording is what xdsproxy says about the file it wrote.
type recording struct {
	Messages int64 `json:"messages"`
	Lost     int64 `json:"lost"`
	Complete bool  `json:"complete"`
	Damaged  bool  `json:"damaged"`
	FileSize int64 `json:"file_size"`
	Expected int64 `json:"expected"`
}

// measure starts the relay, drives the load through it, stops it, and removes
// whatever it left behind.
func (b *bench) measure(ctx context.Context, r relay, l load) (sample, error) {
	dir, err := os.MkdirTemp(b.dir, r.name+"-")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return sample{}, err
	}
	upstream, err := freeAddress()
	if err != nil {
		return sample{}, err
	}
	if r.name == direct {
		return b.drive(ctx, r, l, upstream, upstream, 0)
	}
	listen, err := freeAddress()
	if err != nil {
		return sample{}, err
	}
	p, err := r.start(ctx, b, dir, listen, upstream)
	if err != nil {
		return sample{}, err
	}
	s, err := b.drive(ctx, r, l, upstream, listen, p.cmd.Process.Pid)
	life := p.stop()
	if err != nil {
		return sample{}, err
	}
	s.LifeCPU = float64(life.Microseconds()) / float64(max(s.Responses, 1))
	if file := filepath.Join(dir, recordingName); exists(file) {
		if s.Recording, err = b.inspect(ctx, file); err != nil {
			return sample{}, err
		}
		s.Recording.Expected = l.messages()
	}
	return s, nil
}

func (b *bench) drive(ctx context.Context, r relay, l load, upstream, target string, pid int) (sample, error) {
	args := append(l.args(), "-listen", upstream, "-target", target, "-pid", strconv.Itoa(pid), "-label", r.name)
	cmd := exec.CommandContext(ctx, b.bin("xdsload"), args...)
	cmd.Stderr = b.log
	out, err := cmd.Output()
	if err != nil {
		return sample{}, fmt.Errorf("xdsload: %w", err)
	}
	s := sample{Load: l.name, Relay: r.name, Expected: l.responses()}
	if err := json.Unmarshal(out, &s); err != nil {
		return sample{}, fmt.Errorf("xdsload printed %q: %w", out, err)
	}
	return s, nil
}

// inspect asks xdsproxy itself. Exit code 12 is its way to say "damaged", which
// is in the answer too.
func (b *bench) inspect(ctx context.Context, file string) (*recording, error) {
	out, err := exec.CommandContext(ctx, b.bin("xdsproxy"), "info", file, "-o", "json").Output()
	if len(out) == 0 && err != nil {
		return nil, fmt.Errorf("xdsproxy info: %w", err)
	}
	var r recording
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("xdsproxy info printed %q: %w", out, err)
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	r.FileSize = st.Size()
	return &r, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// freeAddress is a loopback address that nobody listens on at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func appendRaw(file string, samples []sample) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	for _, s := range samples {
		if err := enc.Encode(s); err != nil {
			return err
		}
	}
	return f.Close()
}
