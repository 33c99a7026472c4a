package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc/binarylog"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"xdsproxy": mainWithSchemas,
		"story":    playStory,
		"logged":   playLogged,
		"show":     showFile,
	})
}

// playLogged is a story that gRPC logs: "logged FILE CONTROL PROXY". FILE is
// what its own sink for that has written, of both sides.
func playLogged() {
	err := func() error {
		sink, err := binarylog.NewTempFileSink()
		if err != nil {
			return err
		}
		binarylog.SetSink(sink)
		logs, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			return err
		}
		story, err := xdstest.NewStory(os.Args[2])
		if err != nil {
			return err
		}
		err = story.Play(context.Background(), os.Args[3], func(string) {})
		story.Close()
		if err != nil {
			return err
		}
		for _, fd := range logs {
			if at, err := os.Readlink(fd); err == nil && strings.Contains(at, "grpcgo_binarylog_") {
				if err := sink.Close(); err != nil {
					return err
				}
				data, err := os.ReadFile(at)
				if err != nil {
					return err
				}
				return errors.Join(os.Remove(at), os.WriteFile(os.Args[1], data, 0o600))
			}
		}
		return errors.New("gRPC has written no log")
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playStory is a program for scripts: "story CONTROL PROXY" starts a control
// plane at CONTROL and plays a round with clients that dial PROXY.
func playStory() {
	err := func() error {
		story, err := xdstest.NewStory(os.Args[1])
		if err != nil {
			return err
		}
		defer story.Close()
		return story.Play(context.Background(), os.Args[2], func(string) {})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// showFile is a program for scripts that takes its file as Envoy does: with -c
// or --config-path.
func showFile() {
	for i, arg := range os.Args {
		file, found := strings.CutPrefix(arg, "--config-path=")
		if i > 0 && os.Args[i-1] == "-c" {
			file, found = arg, true
		}
		if !found {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s", text)
	}
}

func TestScripts(t *testing.T) {
	demo := demoRecording(t)
	sessions, err := filepath.Abs("../../check/testdata/sessions")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// Nothing of the one who runs the tests gets in.
			for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
				env.Setenv(v, env.WorkDir+"/home/"+v)
			}
			env.Setenv("DEMO", demo)
			env.Setenv("SCHEMAS", filepath.Join(sessions, "..", "..", "..", "docs", "schema"))
			env.Setenv("SESSIONS", sessions)
			env.Setenv("CONFIGDUMP", filepath.Join(sessions, "..", "..", "..", "internal", "configdump", "testdata", "secrets.json"))
			env.Setenv("STORIES", filepath.Join(filepath.Dir(sessions), "stories"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":  await,
			"damage": damage,
			"cut":    cut,
			"fill":   fill,
			"future": future,
			"leap":   leap,
			"code":   code,

			"mode":    mode,
			"port":    port,
			"prefix":  prefix,
			"sockets": sockets,
			"unzip":   unzip,
			"written": written,
		},
	})
}

// unzip FILE DIR unpacks a zip.
func unzip(ts *testscript.TestScript, _ bool, args []string) {
	z, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer z.Close()
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), z))
}

// demoRecording plays the demo once, for all scripts that read a recording.
func demoRecording(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/demo.xdsp"
	cmd := exec.Command("xdsproxy", "demo", "--once", "-w", path)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+t.TempDir())
	cmd.Stdout = io.Discard
	var complaints writeBuffer
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo: %v\n%s", err, complaints)
	}
	return path
}

type writeBuffer []byte

func (b *writeBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

// await FILE waits until a file exists.
func await(ts *testscript.TestScript, neg bool, args []string) {
	for range 6000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s did not come", args[0])
}

// code N COMMAND... runs a command that must end with exit code N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v ended with %d, not %d", args[1:], got, want)
	}
}

// damage FILE [N] changes a byte within the Nth of the blocks of a recording, or
// within its last one. A negative N counts from the end.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	var bodies []int
	magic := binary.LittleEndian.AppendUint32(nil, 0x184D2A59)
	for at := bytes.Index(b, magic); at >= 0 && at+8 < len(b); {
		body := at + 8 + int(binary.LittleEndian.Uint32(b[at+4:]))
		if body+8 >= len(b) {
			break
		}
		bodies = append(bodies, body)
		next := bytes.Index(b[body:], magic)
		if next < 0 {
			break
		}
		at = body + next
	}
	n := -1
	if len(args) > 1 {
		n, err = strconv.Atoi(args[1])
		ts.Check(err)
	}
	if n < 0 {
		n += len(bodies)
	}
	if n < 0 || n >= len(bodies) {
		ts.Fatalf("%s has %d blocks", args[0], len(bodies))
	}
	b[bodies[n]+8] ^= 0xff
	ts.Check(os.WriteFile(path, b, 0o600))
}

// cut FILE LENGTH ends a file early; a negative length counts from the end.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(b)
	}
	ts.Check(os.WriteFile(path, b[:at], 0o600))
}

// fill FILE LENGTH makes a file of comments.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("#"), n), 0o600))
}

// future FILE VERSION writes the beginning of a recording of another version.
func future(ts *testscript.TestScript, neg bool, args []string) {
	version, err := strconv.ParseUint(args[1], 10, 32)
	ts.Check(err)
	b := binary.LittleEndian.AppendUint32(nil, 0x184D2A58)
	b = binary.LittleEndian.AppendUint32(b, 12)
	b = append(b, "xdsp"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(version))
	b = append(b, 0, 0, 0, 0)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}
