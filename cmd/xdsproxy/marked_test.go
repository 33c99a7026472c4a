package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// markedRecording has some marks far behind what they are about, in blocks of
// their own.
func markedRecording(t *testing.T, o recorder.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "marked.xdsp")
	log, err := recorder.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	mark(log)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// mark appends 2006 entries.
func mark(log *recorder.Log) {
	add := func(e session.Entry) { log.Append(e) }
	for i := range 2000 {
		add(session.Entry{
			Conn: 1, Stream: session.StreamID(1 + i), Side: session.Client, Kind: session.KindOpen,
			Headers: []session.Field{{Name: "x", Value: strings.Repeat(fmt.Sprint(i*7919), 200)}},
		})
	}
	for _, n := range []session.Note{
		{Code: session.NoteMark, About: 3},
		{Code: session.NoteMark, About: 1500},
		{Code: session.NoteMark, About: 70},
		{Code: session.NoteUnmark, About: 3},
		{Code: session.NoteRemark, About: 4, Text: "no mark"},
		{Code: session.NoteSecretsKept, About: 5},
	} {
		add(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &n})
	}
}

// marked are the entries that a filter wants of a source.
func marked(t *testing.T, source, text string) string {
	t.Helper()
	var out, said bytes.Buffer
	args := []string{"watch", source, "--no-check", "--no-follow", "-o", "jsonl", "--filter", text}
	if code := main1(args, strings.NewReader(""), &out, &said); code != 0 {
		t.Fatalf("%s: exit code %d: %s", text, code, said.String())
	}
	var got []string
	for _, m := range regexp.MustCompile(`"seq":(\d+),`).FindAllStringSubmatch(out.String(), -1) {
		got = append(got, m[1])
	}
	return strings.Join(got, " ")
}

// Of a running proxy, too, an entry is marked by a note that comes long after it,
// and no longer when another has taken the mark away.
func TestMarkedFilterOfARunningProxy(t *testing.T) {
	for name, o := range map[string]recorder.Options{"labelled": {Labels: store.NewLabels().Of}, "unlabelled": {}} {
		o.NoTicks = true // the numbers are those of what is appended here
		log, err := recorder.Create(filepath.Join(t.TempDir(), "live.xdsp"), o)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		socket := filepath.Join(t.TempDir(), "v.sock")
		l, err := serve.ListenUnix(socket)
		if err != nil {
			t.Fatal(err)
		}
		server := serve.New(serve.Config{Log: log, Logger: zap.NewNop()})
		server.Serve(l, "")
		defer server.Close(time.Second)
		written := func(entries session.Seq) {
			t.Helper()
			for range 1000 {
				if log.Facts().LastSeq >= entries {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Fatal("never written")
		}
		mark(log)
		written(2006)
		for text, want := range map[string]string{
			"marked:yes": "70 1500", "marked:yes seq:71..": "1500", "marked:no seq:69..71": "69 71",
		} {
			if got := marked(t, "unix:"+socket, text); got != want {
				t.Errorf("%s, %s: %v, not %s", name, text, got, want)
			}
		}
		log.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{Code: session.NoteMark, About: 9}})
		log.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{Code: session.NoteUnmark, About: 70}})
		written(2008)
		if got := marked(t, "unix:"+socket, "marked:yes"); got != "9 1500" {
			t.Errorf("%s, later: %s", name, got)
		}
	}
}

// What is marked is found in a recording with labels and in one without, and
// refused where it cannot be known.
func TestMarkedFilter(t *testing.T) {
	for name, o := range map[string]recorder.Options{"labelled": {Labels: store.NewLabels().Of}, "unlabelled": {}} {
		path := markedRecording(t, o)
		for text, want := range map[string]string{
			"marked:yes":              "70 1500",
			"marked:yes seq:71..":     "1500",
			"marked:no seq:69..71":    "69 71",
			"marked:yes -marked:yes":  "",
			"marked:yes,no seq:1..3":  "1 2 3",
			"marked:yes kind:message": "",
		} {
			if got := marked(t, path, text); got != want {
				t.Errorf("%s, %s: %v, not %s", name, text, got, want)
			}
		}
		pipe, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		var out, said bytes.Buffer
		if code := main1([]string{"watch", "-", "--filter", "marked:yes"}, pipe, &out, &said); code != console.ExitUsage {
			t.Errorf("of a pipe: exit code %d", code)
		}
		if !strings.HasPrefix(said.String(), `xdsproxy: error: filter "marked:yes" asks what was marked, which a pipe tells after the entry`+"\n") {
			t.Errorf("of a pipe: %s", said.String())
		}
	}
}
