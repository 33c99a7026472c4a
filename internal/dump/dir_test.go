package dump

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/trigger"
)

// fill writes a file of so many bytes and this age.
func fill(t *testing.T, path string, size int, age time.Duration) string {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

func there(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Only dumps are deleted, the oldest first; not what somebody else has there, and
// not what a link leads to.
func TestRoom(t *testing.T) {
	d := directory{path: t.TempDir(), most: 1000}
	away := fill(t, filepath.Join(t.TempDir(), "away"), 700, time.Hour)
	in := func(name string) string { return filepath.Join(d.path, name) }
	oldest, older, newer := "dump-20260101T000000.000Z-a-000001.xdsp", "dump-20250101T000000.000Z-b-000002.zip", "dump-20260101T000000.000Z-c-000003.xdsp"
	fill(t, in(oldest), 400, 3*time.Hour)
	fill(t, in(older), 300, 2*time.Hour)
	fill(t, in(newer), 300, time.Hour)
	fill(t, in("session.xdsp"), 5000, 9*time.Hour)
	fill(t, in("dump-mine.xdsp"), 5000, 9*time.Hour)
	left := ".dump-0123456789abcdef.tmp" // by who was killed
	fill(t, in(left), 1, 2*time.Hour)
	fill(t, in(".dump-1123456789abcdef.tmp"), 1, 0)
	link := "dump-20200101T000000.000Z-link-000004.xdsp"
	if err := os.Symlink(away, in(link)); err != nil {
		t.Fatal(err)
	}
	folder := "dump-20200101T000000.000Z-folder-000005.xdsp"
	if err := os.Mkdir(in(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	m := &trigger.Moment{What: "nack-received", Rule: true, Client: "../../etc/passwd\x1b[2J", At: time.Now()}
	path, size, err := d.finish(fill(t, d.temporary(), 400, 0), m, ".xdsp")
	if err != nil || size != 400 || filepath.Dir(path) != d.path || !finished.MatchString(filepath.Base(path)) {
		t.Fatalf("%q, %d bytes: %v", path, size, err)
	}
	want := []string{".dump-1123456789abcdef.tmp", filepath.Base(path), "session.xdsp", "dump-mine.xdsp", link, folder, older, newer}
	slices.Sort(want)
	if got := there(t, d.path); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	if info, err := os.Stat(away); err != nil || info.Size() != 700 {
		t.Errorf("where a link leads: %v", err)
	}
	// Without a limit nothing is deleted but what was never finished, and that at
	// the start, too.
	d.most = 0
	want = there(t, d.path)
	fill(t, in(left), 1, 2*time.Hour)
	if err := d.open(); err != nil || !slices.Equal(there(t, d.path), want) {
		t.Errorf("after a start there is %q, want %q: %v", there(t, d.path), want, err)
	}
	fill(t, in(left), 1, 2*time.Hour)
	if err := d.room(1 << 40); err != nil || !slices.Equal(there(t, d.path), want) {
		t.Errorf("without a limit there is %q, want %q: %v", there(t, d.path), want, err)
	}
	d.most = 1000
	// What is larger than all may be is not kept, and drives nothing out.
	if _, _, err := d.finish(fill(t, d.temporary(), 1001, 0), m, ".xdsp"); err == nil {
		t.Error("a dump that has no room was kept")
	}
}

func TestNames(t *testing.T) {
	at := time.Date(2026, 11, 2, 3, 4, 5, 678e6, time.FixedZone("", 3600))
	for client, want := range map[string]string{
		"":                                     "dump-20261102T020405.678Z-nack-received-",
		"sidecar~10.0.0.1~a/b.c~x":             "dump-20261102T020405.678Z-nack-received-sidecar-10-0-0-1-a-b-c-x-",
		"../..":                                "dump-20261102T020405.678Z-nack-received-",
		"\xff\xfe\u202eÄ-":                     "dump-20261102T020405.678Z-nack-received-",
		strings.Repeat("0123456789/", 100_000): "dump-20261102T020405.678Z-nack-received-0123456789-0123456789-0123456789-0123456789-0123-",
	} {
		got := nameOf(&trigger.Moment{What: "nack-received", Rule: true, Client: client, At: at}, ".xdsp")
		if !finished.MatchString(got) || !strings.HasPrefix(got, want) || len(got) != len(want)+len("012345.xdsp") {
			t.Errorf("%.40q: %q, want %q", client, got, want)
		}
	}
	if got := nameOf(&trigger.Moment{What: "kind:nack name:../x", At: time.Unix(1<<60, 0)}, ".zip"); !finished.MatchString(got) || !strings.Contains(got, "-filter-") {
		t.Errorf("%q", got)
	}
}
