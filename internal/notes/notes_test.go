package notes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/session"
)

var began = time.Date(2026, 11, 23, 19, 42, 21, 123456789, time.UTC)

const written = `xdsproxy notes 1
recording 2026-11-23T19:42:21.123456789Z

# number of the entry, * if it is marked or - if not, what was written; lines with # are yours
17 *
19 * this one breaks it
23 - why so late?
`

func TestFormat(t *testing.T) {
	n := New(began)
	n.Entries = map[session.Seq]Note{19: {true, "this one breaks it"}, 17: {true, ""}, 23: {false, "why so late?"}}
	if got := n.format(); got != written {
		t.Errorf("%s", got)
	}
	again, err := parse(written)
	if err != nil || !maps.Equal(again.Entries, n.Entries) || !again.Began.Equal(began) || len(again.Odd) > 0 {
		t.Errorf("%+v, %v", again, err)
	}
}

// A terminal on which somebody prints the file obeys nothing that is in it.
func TestClean(t *testing.T) {
	if got := Clean(" a\x1b]0;x\a\u009b31m\u0085\u2028b\xff\tü "); got != "a ]0;x  31m  b\ufffd ü" {
		t.Errorf("%q", got)
	}
}

// What a person writes by hand is understood, and what is not is kept.
func TestParse(t *testing.T) {
	n, err := parse("xdsproxy notes 1\r\nrecording 2026-11-23T19:42:21.123456789Z\r\n# mine\r\n\r\n5 *\r\n6 -   tabs\tand more \r\nwhat?\r\n0 * no\r\n5 - twice\r\n7 -\r\n8 *" + strings.Repeat("x", 9) + "\r\n9 * " + strings.Repeat("long", maxText) + "\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[session.Seq]Note{5: {true, ""}, 6: {false, "tabs and more"}, 7: {}}; !maps.Equal(n.Entries, want) {
		t.Errorf("%v", n.Entries)
	}
	if fmt.Sprint(n.Odd) != "[7 8 9 11 12]" {
		t.Errorf("lines %v make no sense", n.Odd)
	}
	text := n.format()
	for _, kept := range []string{"# mine", "what?", "0 * no", "5 - twice", "8 *xxxxxxxxx", "longlong"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is lost:\n%s", kept, text)
		}
	}
	again, err := parse(text)
	if err != nil || again.format() != text {
		t.Errorf("it is not the same when it is written again: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	var many, loose strings.Builder
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&many, "%d *\n", i+1)
	}
	for range maxLoose + 1 {
		loose.WriteString("# x\n")
	}
	for text, want := range map[string]string{
		"":                                 "it is empty",
		"shopping list\n":                  "its first line is not",
		"xdsproxy notes 2\n":               "its first line is not",
		title + "\nrecording yesterday\n":  "its second line does not say",
		title + "\n" + many.String():       "more than 65536 entries",
		title + "\n" + loose.String():      "lines that are no notes",
		strings.Repeat("x", maxFile+1):     "larger than 8 MiB",
		"\x00\xff\xfe" + title:             "its first line is not",
		title + "\nrecording 2026-99-99\n": "its second line",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(written)
	f.Add(title + "\n1 * \x1b[31m\n2 - \xff\xfe\u2028x\n# \r\n\n\n3")
	f.Add("recording\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parse(text)
		if err != nil {
			return
		}
		for seq, note := range n.Entries {
			if seq == 0 || len(note.Text) > 3*maxText || !utf8.ValidString(note.Text) || note.Text != Clean(note.Text) || strings.ContainsAny(note.Text, "\n\r\x1b") {
				t.Errorf("%d: %q", seq, note.Text)
			}
		}
		again, err := parse(n.format())
		if err != nil || !maps.Equal(n.Entries, again.Entries) || !n.Began.Equal(again.Began) || len(n.Odd) != len(again.Odd) {
			t.Errorf("%q is read as %+v, and written again as %+v: %v", text, n, again, err)
		}
	})
}

// What is kept is there for who opens the file next, with what somebody else wrote
// into it meanwhile.
func TestFileSurvives(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "a.xdsp")
	f := NewFile(recording, began)
	f.Set(17, Note{Marked: true})
	if f.Unsaved() != 1 || f.Save() != nil || f.Unsaved() != 0 {
		t.Fatal("it is not written")
	}
	info, err := os.Stat(PathOf(recording))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	other, err := os.OpenFile(PathOf(recording), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = other.WriteString("# mine\n30 - by hand\n")
	other.Close()
	f.Set(18, Note{Text: "two\nlines"})
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	n, err := NewFile(recording, began).Read()
	want := map[session.Seq]Note{17: {true, ""}, 18: {false, "two lines"}, 30: {false, "by hand"}}
	if err != nil || !maps.Equal(n.Entries, want) {
		t.Errorf("%v, %v", n.Entries, err)
	}
	text, _ := os.ReadFile(PathOf(recording))
	if !strings.Contains(string(text), "# mine\n") {
		t.Errorf("a comment is lost:\n%s", text)
	}
	if left, _ := os.ReadDir(filepath.Dir(recording)); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
}

// What is not ours is said, not shown, and not written.
func TestFileOfSomebodyElse(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"another recording": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(written, "2026", "2025", 1)), 0o600)
		},
		"no recording": func(path string) error { return os.WriteFile(path, []byte(title+"\n5 *\n"), 0o600) },
		"no notes":     func(path string) error { return os.WriteFile(path, []byte("\x1b]0;owned\x07"), 0o600) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":       func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			recording := filepath.Join(t.TempDir(), "a.xdsp")
			if err := make(PathOf(recording)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(PathOf(recording) + "/../a.xdsp.notes")
			f := NewFile(recording, began)
			n, err := f.Read()
			if err == nil || !strings.HasPrefix(err.Error(), "a.xdsp.notes is left alone: ") || len(n.Entries) > 0 || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%v, %v", n.Entries, err)
			}
			f.Set(1, Note{Marked: true})
			if err := f.Save(); err == nil || f.Unsaved() != 1 {
				t.Errorf("it was written: %v", err)
			}
			if info, err := os.Lstat(PathOf(recording)); err == nil && info.Mode().IsRegular() {
				if after, _ := os.ReadFile(PathOf(recording)); len(before) > 0 && string(after) != string(before) {
					t.Error("it is not what it was")
				}
			}
		})
	}
}

func TestNowhereToWrite(t *testing.T) {
	f := NewFile(filepath.Join(t.TempDir(), "gone", "a.xdsp"), began)
	f.Set(1, Note{Marked: true})
	if err := f.Save(); err == nil || !strings.HasPrefix(err.Error(), "a.xdsp.notes cannot be written: ") || f.Unsaved() != 1 {
		t.Errorf("%v, %d unsaved", err, f.Unsaved())
	}
}

// Several who write at once lose nothing.
func TestFileAtOnce(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "a.xdsp")
	f := NewFile(recording, began)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			f.Set(session.Seq(i+1), Note{Marked: true})
			if err := f.Save(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, err := f.Read(); err != nil || len(n.Entries) != 20 || f.Unsaved() != 0 {
		t.Errorf("%d, %v", len(n.Entries), err)
	}
}

func TestOver(t *testing.T) {
	said, file := New(began), New(began)
	for _, n := range []session.Note{
		{Code: session.NoteMark, About: 1},
		{Code: session.NoteMark, About: 2},
		{Code: session.NoteRemark, About: 2, Text: "in it"},
		{Code: session.NoteUnmark, About: 2},
		{Code: session.NoteMark, About: 3},
		{Code: session.NoteBlind, About: 4},
		{Code: session.NoteMark},
	} {
		said.Said(&n)
	}
	said.Said(nil)
	file.Entries[3] = Note{}
	file.Entries[5] = Note{Text: "beside it"}
	if got, want := file.Over(said), (map[session.Seq]Note{1: {true, ""}, 2: {false, "in it"}, 5: {false, "beside it"}}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
