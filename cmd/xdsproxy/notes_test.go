package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// What people left beside a recording is in its exports, in show and in what
// filters ask; and beside a part that is cut out of it.
func TestNotesAreExported(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	b, err := os.ReadFile(demoRecording(t))
	if err != nil || os.WriteFile(in("demo.xdsp"), b, 0o600) != nil {
		t.Fatal(err)
	}
	facts, err := recorder.Inspect(in("demo.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	f := notes.NewFile(in("demo.xdsp"), facts.Created)
	f.Set(3, notes.Note{Marked: true, Text: "`look` <b>here</b>"})
	f.Set(9, notes.Note{Text: "and there"})
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, string) {
		t.Helper()
		var out, said bytes.Buffer
		if code := main1(args, strings.NewReader(""), &out, &said); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, said.String())
		}
		return out.String(), said.String()
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("there is no %q in\n%.3000s", p, text)
			}
		}
	}
	report, said := run("export", in("demo.xdsp"), "-o", "md")
	has(report, "## Marks and notes\n\n- entry 3, marked: `` `look` <b>here</b> ``\n- entry 9: `and there`\n")
	if strings.Contains(said, "left alone") {
		t.Error(said)
	}
	if part, _ := run("export", in("demo.xdsp"), "-o", "md", "--seq", "9"); strings.Contains(part, "entry 3") || !strings.Contains(part, "- entry 9: `and there`") {
		t.Errorf("of a part: %s", part)
	}
	page, _ := run("export", in("demo.xdsp"), "-o", "html")
	has(page, `"marked":true`, `"remark":"and there"`)
	lines, _ := run("export", in("demo.xdsp"), "-o", "jsonl", "--seq", "3..9")
	has(lines, `"marked":true`, `"remark":"and there"`)
	documents, _ := run("export", in("demo.xdsp"), "-o", "yaml", "--seq", "3..9")
	has(documents, "marked: true\n", "remark: and there\n")
	shown, _ := run("show", in("demo.xdsp"), "3", "9", "10")
	has(shown, "marked: true\n", "remark: and there\n")
	if got := marked(t, in("demo.xdsp"), "marked:yes"); got != "3" {
		t.Errorf("marked are %s", got)
	}
	_, said = run("export", in("demo.xdsp"), "--seq", "9..12", "-w", in("part.xdsp"))
	has(said, "marks and notes on 1 entry are in ")
	shown, _ = run("show", in("part.xdsp"), "9")
	has(shown, "remark: and there\n")

	// Those of another recording are said to be left alone.
	if err := os.Rename(notes.PathOf(in("part.xdsp")), notes.PathOf(in("part.xdsp"))+".old"); err != nil {
		t.Fatal(err)
	}
	other := notes.NewFile(in("part.xdsp"), time.Unix(1, 0))
	other.Set(9, notes.Note{Text: "not this one"})
	if err := other.Save(); err != nil {
		t.Fatal(err)
	}
	shown, said = run("show", in("part.xdsp"), "9")
	has(said, "warning: part.xdsp.notes is left alone: it belongs to another recording, which began at 1970")
	if strings.Contains(shown, "not this one") {
		t.Error("they are shown")
	}
}
