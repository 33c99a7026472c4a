package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// hugeMessage is the length of a message that takes hardly any room in a file, and
// that nobody may put together in memory to look at it.
const hugeMessage = 800 << 20

// recordLarge writes a conversation of so many responses with one resource of size
// bytes, each accepted. With a segment size it is in segments.
func recordLarge(t *testing.T, path string, size, count int, segment int64) {
	t.Helper()
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, QueueBytes: 4 << 30, Masked: true, MaxSize: segment})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	add := func(e session.Entry) {
		now = now.Add(time.Second)
		e.Time, e.Conn = now, 1
		if e.Kind != session.KindConnect {
			e.Stream, e.H2 = 1, 1
		}
		log.Append(e)
		for log.Stats().Queued > 0 { // it waits for its turn in memory
			time.Sleep(time.Millisecond)
		}
	}
	say := func(side session.Side, b session.Chunks) {
		add(session.Entry{Side: side, Kind: session.KindMessage, Message: &session.Message{Data: b, Size: b.Len(), WireSize: b.Len()}})
	}
	url := xds.TypeURL("CDS")
	add(session.Entry{Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: "10.0.0.1:40000"}})
	add(session.Entry{Side: session.Client, Kind: session.KindOpen, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"})
	say(session.Client, session.Chunks{(&synth.Request{TypeURL: url, Node: &decode.Node{ID: "web-1", UserAgent: "envoy"}}).Marshal()})
	for n := range count {
		version := strconv.Itoa(n)
		say(session.Server, largeResponse(url, version, size))
		say(session.Client, session.Chunks{(&synth.Request{TypeURL: url, Version: version, Nonce: version}).Marshal()})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Lost > 0 {
		t.Fatalf("%d entries were lost", s.Lost)
	}
}

// largeResponse is a response of size bytes with one resource, which is in memory once.
func largeResponse(url, version string, size int) session.Chunks {
	field := func(b []byte, num protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), value)
	}
	begin := func(num protowire.Number, behind int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.BytesType), uint64(behind))
	}
	envelope := field(field(field(nil, 1, version), 4, url), 5, version)
	padded := size - len(envelope) - 200
	name := field(nil, 1, "orders")
	pad := begin(1000, padded) // which no cluster has
	value := begin(2, len(name)+len(pad)+padded)
	typed := field(nil, 1, url)
	head := slices.Concat(envelope, begin(2, len(typed)+len(value)+len(name)+len(pad)+padded), typed, value, name, pad)
	out, zeros := session.Chunks{head}, make([]byte, 1<<20)
	for padded > 0 {
		n := min(padded, len(zeros))
		out, padded = append(out, zeros[:n]), padded-n
	}
	rest := size - int(out.Len()) // a field beside, as long as it takes
	fill := begin(1001, rest-4)
	return append(out, append(fill, make([]byte, rest-len(fill))...))
}

// peak runs a command to its end, and returns what it printed and how much memory it
// had at most, in bytes. It looks again and again: what the system says at the end
// counts the memory of who started the process, too.
func peak(t *testing.T, args ...string) (out string, most int64) {
	t.Helper()
	cmd := command(t, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
				t.Fatal(err)
			}
			if most == 0 {
				t.Fatal("nobody saw how much memory it had")
			}
			return said.String(), most
		case <-time.After(time.Millisecond):
			most = max(most, highWater(cmd.Process.Pid))
		}
	}
}

// highWater is how much memory a process had at most, in bytes; 0 if it has ended.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, is := bytes.Cut(status, []byte("VmHWM:"))
	if !is {
		return 0
	}
	kb, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kb << 10
}

// No command takes the memory of a message that is too large to be decoded: less than
// one of them is long, and there are two. Each says what it has not read, and none
// takes it for something else.
func TestMessagesTooLargeToDecode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "large.xdsp")
	recordLarge(t, file, hugeMessage, 2, 0)
	const unread = "too large to decode: "
	for _, c := range []struct{ args, says string }{
		{"watch FILE --no-follow", unread},
		{"watch FILE --no-follow -o jsonl", unread},
		{"show FILE 4", unread},
		{"show FILE 4 -o json", unread},
		{"check FILE", "0 errors, 0 warnings"},
		{"check FILE -o json", `"findings": []`},
		{"status FILE", "UNKNOWN"},
		{"tree FILE web-1", ""},
		{"info FILE --all", ""},
		{"pushes FILE", " unknown "},
		{"pushes FILE 1", "changed  unknown\n"},
		{"diff FILE 4 6", "entry 4 cannot be compared: too large to decode: "},
		{"diff FILE FILE", "2 responses of"},
		{"diff FILE FILE -o json", `"unread": 4`},
		{"report FILE 4 --yes -w DIR/1.zip", ""},
		{"export FILE -w DIR/1.csv", ""},
		{"export FILE -w DIR/1.jsonl", ""},
		{"export FILE -w DIR/1.yaml", ""},
		{"export FILE -w DIR/1.md", ""},
		{"export FILE -w DIR/1.html", ""},
		{"export FILE -w DIR/1.xds", ""},
		{"export FILE -o binarylog -w DIR/1.bin", ""},
		{"export FILE -o dir -w DIR/folder", ""},
		{"export FILE -o parquet -w DIR/tables", ""},
		{"export FILE -o bootstrap", ""},
		{"export FILE --pseudonyms -w DIR/2.xdsp", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer("FILE", file, "DIR", dir).Replace(c.args))
			out, most := peak(t, args...)
			if most > hugeMessage/2 {
				t.Errorf("it takes %d MB of memory", most>>20)
			}
			if !strings.Contains(out, c.says) || strings.Contains(out, "panic") {
				t.Errorf("it says %q", out[:min(len(out), 2000)])
			}
			t.Logf("%d MB: %.200q", most>>20, out)
		})
	}
	t.Run("mcp", func(t *testing.T) {
		a := startAssistant(t, file)
		a.agrees(t, "clients", nil, "status", file, "-o", "json")
		a.agrees(t, "check", nil, "check", file, "-o", "json")
		a.agrees(t, "entry", map[string]any{"seq": 4}, "show", file, "4", "-o", "json")
		if most := highWater(a.pid); most == 0 || most > hugeMessage/2 {
			t.Errorf("it takes %d MB of memory", most>>20)
		}
	})
}

// A part of a recording has the bytes of such a message as they were, and takes the
// memory of one of them.
func TestMessagesTooLargeToDecodeAreCopied(t *testing.T) {
	dir := t.TempDir()
	file, part := filepath.Join(dir, "large.xdsp"), filepath.Join(dir, "part.xdsp")
	recordLarge(t, file, hugeMessage, 2, 0)
	out, most := peak(t, "export", file, "--seq", "4..5", "-w", part)
	if most > 4*hugeMessage {
		t.Errorf("it takes %d MB of memory", most>>20)
	}
	t.Logf("%d MB: %s", most>>20, out)
	want, got := sums(t, file), sums(t, part)
	if len(want) != 2 || len(got) != 1 || got[0] != want[0] {
		t.Errorf("of %x there is %x", want, got)
	}
}

// Who copies such messages gets those of every segment.
func TestMessagesTooLargeToDecodeInSegments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.xdsp")
	recordLarge(t, file, hugeMessage, 2, 50_000)
	segments, err := filepath.Glob(filepath.Join(filepath.Dir(file), "large*.xdsp"))
	if err != nil || len(segments) < 2 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	if got := sums(t, file); len(got) != 2 || got[0] == got[1] {
		t.Errorf("%d messages: %x", len(got), got)
	}
}

// sums are those of the messages that are too large to be decoded.
func sums(t *testing.T, file string) (out [][sha256.Size]byte) {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Pieces()
	r.Large()
	for {
		e, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Message == nil || !e.Message.Large() {
			continue
		}
		if e.Message.Truncated || e.Message.Data.Len() != hugeMessage {
			t.Errorf("entry %d has %d bytes", e.Seq, e.Message.Data.Len())
		}
		sum := sha256.New()
		for _, c := range e.Message.Data {
			sum.Write(c)
		}
		out = append(out, [sha256.Size]byte(sum.Sum(nil)))
	}
}

// Real responses of 100 MB are read, and twelve of them take no more memory than a few.
func TestLargeMessagesAreRead(t *testing.T) {
	const size = 100 << 20
	file := filepath.Join(t.TempDir(), "large.xdsp")
	recordLarge(t, file, size, 12, 0)
	for _, c := range []struct{ args, says string }{
		{"check FILE", "0 errors"},
		{"status FILE", "SYNCED"},
		{"watch FILE --no-follow", "orders"},
		{"tree FILE web-1", "orders"},
	} {
		out, most := peak(t, strings.Fields(strings.ReplaceAll(c.args, "FILE", file))...)
		if most > 9*size {
			t.Errorf("%s takes %d MB of memory", c.args, most>>20)
		}
		if !strings.Contains(out, c.says) || strings.Contains(out, "too large") {
			t.Errorf("%s says %q", c.args, out[:min(len(out), 2000)])
		}
		t.Logf("%s: %d MB", c.args, most>>20)
	}
}
