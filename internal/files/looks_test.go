package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestLooks: what is entered and said of what happens to files, one look after the
// other. A line of testdata/looks is what is done, or "tell" what the system tells.
// Each of its parts begins with "== " and what the client watches.
func TestLooks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "looks"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(string(text), "== "), "\n== ") {
		about, steps, _ := strings.Cut(part, "\n")
		fmt.Fprintf(&out, "== %s\n%s", about, looks(t, about, steps))
	}
	golden.Is(t, filepath.Join("testdata", "looks.txt"), out.String())
}

func looks(t *testing.T, about, steps string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "d")
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	var out strings.Builder
	short := func(s string) string { return strings.ReplaceAll(s, base+string(filepath.Separator), "") }
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var seq session.Seq
	var streams session.StreamID
	o := Options{
		Dirs:      []string{dir},
		NewStream: func() session.StreamID { streams++; return streams },
		Append: func(e session.Entry) session.Seq {
			seq++
			fmt.Fprintf(&out, "  %d %s on %d:", seq, e.Kind, e.Stream)
			for _, f := range e.Headers {
				fmt.Fprintf(&out, " %s=%s", strings.TrimPrefix(f.Name, ":"), short(f.Value))
			}
			if e.Message != nil {
				fmt.Fprintf(&out, " %d bytes, begun before %v", e.Message.Size, !e.Start.IsZero())
			}
			if e.Note != nil {
				fmt.Fprintf(&out, " %s", short(e.Note.Text))
			}
			fmt.Fprintf(&out, "%s\n", short(e.Method))
			return seq
		},
		Said: func(n *News) {
			if n.Wrong || n.Hint != "" {
				fmt.Fprintf(&out, "    wrong %v, hint %q\n", n.Wrong, n.Hint)
			}
		},
		Loaded: func() { out.WriteString("    loaded\n") },
	}
	// "known" may be behind, "FILE" or "FILE in DIRECTORY" before it.
	about, o.Known = strings.CutSuffix(about, " known")
	for one := range strings.SplitSeq(about, ", ") {
		path, directory, _ := strings.Cut(one, " in ")
		if path == "nothing" {
			continue
		}
		s := file.Source{Path: in(path)}
		if directory != "" {
			s.Directory = in(directory)
		}
		o.Sources = append(o.Sources, s)
	}
	d, err := newDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &Watcher{o: o, dirs: []*directory{d}, files: map[string]*watched{}, named: map[string]file.Source{}, marks: map[string]mark{}, keep: map[string]bool{}, said: map[string]bool{}}
	w.know(o.Sources)
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // each write at another time
	ops := map[string]fsnotify.Op{"create": fsnotify.Create, "write": fsnotify.Write, "remove": fsnotify.Remove, "rename": fsnotify.Rename, "chmod": fsnotify.Chmod}
	for line := range strings.Lines(steps) {
		fmt.Fprintln(&out, strings.TrimSpace(line))
		word := append(strings.Fields(line), "", "", "")
		err = nil
		switch word[0] {
		case "write":
			clock = clock.Add(time.Second)
			text := strings.NewReplacer("_", " ", ";", "\n").Replace(word[2])
			if err = os.WriteFile(in(word[1]), []byte(text), 0o644); err == nil {
				err = os.Chtimes(in(word[1]), clock, clock)
			}
		case "again": // the same time as before
			if err = os.WriteFile(in(word[1]), []byte(word[2]), 0o644); err == nil {
				err = os.Chtimes(in(word[1]), clock, clock)
			}
		case "large":
			if err = os.WriteFile(in(word[1]), nil, 0o644); err == nil {
				err = os.Truncate(in(word[1]), MaxSize+int64(len(word[2])))
			}
		case "mv":
			err = os.Rename(in(word[1]), in(word[2]))
		case "rm":
			err = os.RemoveAll(in(word[1]))
		case "mkdir":
			err = os.Mkdir(in(word[1]), 0o755)
		case "link":
			err = os.Symlink(word[1], in(word[2]))
		case "hard":
			err = os.Link(in(word[1]), in(word[2]))
		case "tell":
			w.note(fsnotify.Event{Name: in(word[2]), Op: ops[word[1]]})
		case "miss":
			w.missed = true
		case "system": // there is one, which may still tell
			if w.system, err = fsnotify.NewWatcher(); err == nil {
				defer w.system.Close()
			}
		case "look":
			w.look()
			w.begun, w.since = true, clock
			fmt.Fprintf(&out, "    %d files, %d loads\n", w.Stats().Files, w.Stats().Loads)
			if w.again {
				out.WriteString("    and again\n")
			}
		default:
			t.Fatalf("%s: what is that?", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return out.String()
}

// TestFollow: the steps to a file, and in which directories they can change.
func TestFollow(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(base, name) }
	for _, err := range []error{
		os.MkdirAll(in("a/b"), 0o755), os.WriteFile(in("a/b/f"), nil, 0o644), os.Symlink("b", in("a/c")), os.Symlink(in("a/c/f"), in("l")), os.Symlink("../l", in("a/m")),
		os.Symlink("o", in("o")), os.Symlink("./a/.././a/b/f", in("w")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"a/b/f": "a a/b a/b/f*; in a/b", "a/c/f": "a a/c a/b a/b/f*; in a a/b", "l": "l* a a/c a/b a/b/f*; in . a a/b", "a/m": "a a/m* l* a a/c a/b a/b/f*; in a . a a/b", "w": "w* a a a/b a/b/f*; in . a/b",
		"a/b": "a a/b*; in a", "a/x": "no such file", "o": "too many symbolic links",
	} {
		trail, err := follow(in(path))
		got := fmt.Sprint(err)
		if err == nil {
			var steps, dirs []string
			rel := func(at string) string { r, _ := filepath.Rel(base, at); return r }
			for _, s := range trail.steps {
				if r := rel(s.at); r != ".." && !strings.HasPrefix(r, "../") && r != "." {
					if s.last {
						r += "*"
					}
					steps = append(steps, r)
				}
			}
			trail.directories(func(dir string) { dirs = append(dirs, rel(dir)) })
			got = strings.Join(steps, " ") + "; in " + strings.Join(dirs, " ")
		}
		if !strings.Contains(got, want) || err == nil && got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
