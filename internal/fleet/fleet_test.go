package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// noise cannot be compressed.
func noise(n int) []byte {
	b, rng := make([]byte, n), rand.NewChaCha8([32]byte{byte(n)})
	_, _ = rng.Read(b)
	return b
}

// record writes a recording of so many entries in segments, a minute apart, and
// returns its files, the oldest first.
func record(t testing.TB, dir, base string, entries int) []string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, base+".xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, MaxSize: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		data := append(fmt.Appendf(nil, "%s %d ", base, i), noise(1200+i)...)
		log.Append(session.Entry{
			Time: time.Unix(1_800_000_000+60*int64(i), 0), Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindMessage,
			Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
		})
		for i%3 == 2 && log.Stats().Entries < uint64(i+1) { // several blocks, for several segments
			time.Sleep(100 * time.Microsecond)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	older, _ := filepath.Glob(filepath.Join(dir, base+".??????.xdsp"))
	return append(older, path)
}

// archived moves the segments of a recording to where an archive has them: each
// with its number, and in the directory of its day.
func archived(t testing.TB, root, cluster, proxy, rec string, files []string) {
	t.Helper()
	for i, file := range files {
		dir := filepath.Join(root, "cluster="+cluster, fmt.Sprintf("date=2027-01-%02d", 15+i/2), "proxy="+proxy)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file, filepath.Join(dir, fmt.Sprintf("%s.%06d.xdsp", rec, i+1))); err != nil {
			t.Fatal(err)
		}
	}
}

func all(t testing.TB, source string, o Options) []*Recording {
	t.Helper()
	var out []*Recording
	for r, err := range Recordings(t.Context(), source, o) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// refused is the error that is all that comes of a source.
func refused(ctx context.Context, t testing.TB, source string) error {
	t.Helper()
	var errs []error
	for r, err := range Recordings(ctx, source, Options{}) {
		if r != nil {
			t.Errorf("%+v", r)
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 {
		t.Fatalf("%d errors: %v", len(errs), errs)
	}
	return errs[0]
}

func seqs(t testing.TB, r *recorder.Reader, err error) (out []session.Seq) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Carried {
			out = append(out, e.Seq)
		}
	}
	return out
}

func TestDirectory(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("gateway-", 10)
	archived(t, root, "a%2Fb", long, "20270115T000000Z-1", record(t, filepath.Join(root, ".tmp"), "x", 60))
	archived(t, root, "a%2Fb", long, "20270115T000000Z-2", record(t, filepath.Join(root, ".tmp"), "y", 5)) // two of one name
	record(t, filepath.Join(root, "plain", "gw-0"), "session", 60)
	record(t, filepath.Join(root, "plain", "gw-1"), "session", 5)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(root, "plain", "session.xdsp.notes"), []byte("x"), 0o600))
	must(os.WriteFile(filepath.Join(root, "plain", "foreign.xdsp"), []byte("PK"), 0o600))
	must(os.Symlink(root, filepath.Join(root, "plain", "loop")))
	must(os.Symlink(filepath.Join(root, "gone"), filepath.Join(root, "plain", "nowhere")))

	var told []string
	found := all(t, root, Options{Tell: func(f string, a ...any) { told = append(told, fmt.Sprintf(f, a...)) }})
	var names []string
	for _, r := range found {
		names = append(names, fmt.Sprintf("%s|%s|%s", r.Cluster, r.Proxy, r.Name))
	}
	want := []string{
		"|plain/foreign|foreign", "|plain/gw-0/session|session", "|plain/gw-1/session|session",
		"a/b|" + long + "|20270115T000000Z-1", "a/b|" + long + "|20270115T000000Z-2",
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") || len(told) > 0 {
		t.Fatalf("found\n%s\nnot\n%s\nand told %q", strings.Join(names, "\n"), strings.Join(want, "\n"), told)
	}
	for i, entries := range map[int]int{1: 60, 2: 5, 3: 60, 4: 5} {
		r := found[i]
		reader, err := r.Open(t.Context(), nil)
		if got := seqs(t, reader, err); len(got) != entries || got[len(got)-1] != session.Seq(entries) {
			t.Errorf("%s: %d entries, not %d", r.Proxy, len(got), entries)
		}
		// What is said of it opens it again, alone.
		again := all(t, r.Source, Options{})
		if len(again) != 1 || again[0].Segments != r.Segments && r.Cluster == "" {
			t.Errorf("%s names %d recordings", r.Source, len(again))
		}
	}
	if _, err := found[0].Open(t.Context(), nil); err == nil {
		t.Error("what is no recording was opened")
	} else if _, is := errors.AsType[*recorder.FormatError](err); !is {
		t.Errorf("what is no recording: %v", err)
	}
	if n := found[3].Segments; n < 4 || found[3].First.Day() != 15 || found[3].Last.Day() < 16 {
		t.Fatalf("%+v", found[3])
	}

	// One segment is enough for one entry.
	for _, seq := range []session.Seq{1, 2, 29, 30, 59, 60, 1000} {
		reader, err := found[3].OpenWith(t.Context(), seq)
		got := seqs(t, reader, err)
		if in := got[0] <= seq && seq <= got[len(got)-1]; in != (seq <= 60) || len(got) == 60 {
			t.Errorf("entry %d: a segment with %d to %d", seq, got[0], got[len(got)-1])
		}
	}

	// Days that are not wanted are not looked at: what is of them has no files.
	day := time.Date(2027, 1, 16, 12, 0, 0, 0, time.UTC)
	for _, r := range all(t, root, Options{Until: day.Add(-24 * time.Hour)}) {
		if r.Cluster != "" && r.Last.Day() > 15 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range all(t, filepath.Join(root, "cluster=a%2Fb"), Options{Since: day.Add(24 * time.Hour)}) {
		reader, err := r.Open(t.Context(), nil)
		got := seqs(t, reader, err)
		switch {
		case r.Cluster != "a/b" || got[len(got)-1] != 60 && got[len(got)-1] != 5:
			t.Errorf("%+v: %v", r, got)
		case len(got) > 50, r.Segments > 1 && r.First.Day() < 16: // what is of another day is not there
			t.Errorf("%d entries, and the first is of day %d", len(got), r.First.Day())
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := refused(ctx, t, root); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := refused(t.Context(), t, filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A directory that is named by a relative path is the same, when a link in it leads
// back as an absolute one; and names that are no text stay different.
func TestRelativeDirectory(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a\xff", "a\xfe", "a�"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Skipf("no such names here: %v", err)
		}
		record(t, filepath.Join(root, dir), "x", 5)
	}
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(root))
	var names []string
	for _, r := range all(t, filepath.Base(root), Options{}) {
		names = append(names, r.Proxy)
	}
	if want := []string{`a\xFE/x`, `a\xFF/x`, `a�/x`}; !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}

// A segment that is there twice, as after a retry under another day, counts once.
func TestTwice(t *testing.T) {
	root := t.TempDir()
	files := record(t, filepath.Join(root, ".tmp"), "x", 40)
	archived(t, root, "c", "p", "r", files)
	b, err := os.ReadFile(filepath.Join(root, "cluster=c", "date=2027-01-15", "proxy=p", "r.000002.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "cluster=c", "date=2027-01-20", "proxy=p")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "r.000002.xdsp"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	found := all(t, root, Options{Tell: func(string, ...any) { told++ }})
	if len(found) != 1 || found[0].Segments != len(files) || told != 1 {
		t.Fatalf("%d recordings, told %d times", len(found), told)
	}
	reader, err := found[0].Open(t.Context(), nil)
	if got := seqs(t, reader, err); len(got) != 40 {
		t.Fatalf("%d entries", len(got))
	}
}

// A file that is closed while it is parked is the one that it was, or an error.
func TestParkedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.xdsp")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Park()
	var b [4]byte
	if _, err := f.ReadAt(b[:], 3); err != nil || string(b[:]) != "3456" {
		t.Fatalf("%q %v", b, err)
	}
	f.Park()
	if err := os.Rename(path, path+"-"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(b[:], 3); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Fatalf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"cluster=c/date=2027-01-15/proxy=p%2F1/r.000001.xdsp", "a/b/session.xdsp", ".xdsp", "x.0000000000000000000000001.xdsp",
		"cluster=/date=/proxy=/x.xdsp", "cluster=%zz/date=2027-13-99/proxy=\xff/x.000000.xdsp", "///x.xdsp", strings.Repeat("a/", 5000) + "x.xdsp", strings.Repeat("a/", 600) + "x.xdsp",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, is := parse("", s)
		if !is {
			return
		}
		const most = maxName + len("…01234567") // of what is cut, and what tells it apart
		if n.recording == "" || n.proxy == "" || len(n.proxy) > most || len(n.cluster) > most || n.group == "" {
			t.Fatalf("%q: %+v", s, n)
		}
		if again, _ := parse("", s); again != n {
			t.Fatalf("%q: %+v, then %+v", s, n, again)
		}
	})
}
