package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// stored puts segments where a store has them, each on its day.
func stored(t *testing.T, root, proxy, rec string, days []int, from int, files []string) {
	t.Helper()
	for i, file := range files[from-1 : from-1+len(days)] {
		day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days[i]-1)
		dir := filepath.Join(root, "cluster=c", "date="+day.Format(time.DateOnly), "proxy="+proxy)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%06d.xdsp", rec, from+i)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// named makes files, of which only the names matter.
func named(t *testing.T, dir string, names ...string) (files []string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// described is what is said of recordings, a line each.
func described(found []*Recording, base string) (out []string) {
	day := func(d time.Time) string {
		if d.IsZero() {
			return "-"
		}
		return d.Format("01-02")
	}
	for _, r := range found {
		out = append(out, fmt.Sprintf("%s|%s|%s %d %s..%s %s", r.Cluster, r.Proxy, r.Name, r.Segments, day(r.First), day(r.Last), strings.TrimPrefix(r.Source, base)))
	}
	return out
}

// The segments of a recording are found under the days that it had, also where some
// days in a row have none.
func TestStore(t *testing.T) {
	root, long := t.TempDir(), strings.Repeat("gateway-", 10)
	files := record(t, t.TempDir(), "x", 60)
	stored(t, root, long, "r1", []int{1, 1, 2, 32}, 1, files) // 29 days without one
	stored(t, root, "gw-1", "r1", []int{5, 36}, 1, files)     // 30 days without one: that is the most
	stored(t, root, "gw-2", "r2", []int{3, 35}, 1, files)     // one day more
	stored(t, root, "gw-3", "r3", []int{40, 41}, 2, files)    // the first is lost
	named(t, root, "gw.xdsp", "other", "a\\b.xdsp", "r9.xdsp.notes")
	base := "file://" + root + "/"
	store, _, err := objects.Open(base, objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bucket{store: store, late: &late{}}
	below := func(key string, o Options) ([]*Recording, error) {
		files, err := b.find(t.Context(), key, o)
		if err != nil {
			return nil, err
		}
		return gather(base+key, b, files, o)
	}
	first := func(day int, proxy, file string) string {
		return fmt.Sprintf("cluster=c/date=%s/proxy=%s/%s", time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), proxy, file)
	}
	lines := map[string]string{
		"gw": "|gw|gw 1 -..- gw.xdsp",
		"1":  "c|gw-1|r1 2 01-05..02-05 " + first(5, "gw-1", "r1.xdsp"),
		"2":  "c|gw-2|r2 2 01-03..02-04 " + first(3, "gw-2", "r2.xdsp"),
		"3":  "c|gw-3|r3 2 02-09..02-10 " + first(40, "gw-3", "r3.xdsp"),
		"l":  "c|" + long + "|r1 4 01-01..02-01 " + first(1, long, "r1.xdsp"),
	}
	one := func(segments int, proxy string, day int, file string) string {
		d := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).Format("01-02")
		return fmt.Sprintf("c|%s|%s %d %s..%s %s", proxy, strings.SplitN(file, ".", 2)[0], segments, d, d, first(day, proxy, file))
	}
	for _, c := range []struct {
		what string
		want []string
	}{
		{"", []string{lines["gw"], lines["l"], lines["1"], lines["2"], lines["3"]}},
		{"gw.xdsp", []string{lines["gw"]}},
		{"other", []string{"|other|other 1 -..- other.xdsp"}},
		{"cluster=c/date=2026-01-01/", []string{one(2, long, 1, "r1.xdsp")}},
		{first(1, long, "r1.xdsp"), []string{lines["l"]}},
		{first(32, long, "r1.xdsp"), []string{lines["l"]}},
		{first(2, long, "r1.000003.xdsp"), []string{one(1, long, 2, "r1.xdsp")}},
		{first(5, "gw-1", "r1.xdsp"), []string{lines["1"]}},
		{first(36, "gw-1", "r1.xdsp"), []string{lines["1"]}},
		{first(3, "gw-2", "r2.xdsp"), []string{one(1, "gw-2", 3, "r2.xdsp")}},
		{first(35, "gw-2", "r2.xdsp"), []string{one(1, "gw-2", 35, "r2.xdsp")}},
		{first(41, "gw-3", "r3.xdsp"), []string{lines["3"]}},
	} {
		var told []string
		found, err := below(c.what, Options{Tell: func(f string, a ...any) { told = append(told, fmt.Sprintf(f, a...)) }})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		got := described(found, base)
		for i := range c.want { // one segment alone is a source by its own name or by the recording's
			if i < len(got) && strings.HasSuffix(c.what, ".000003.xdsp") {
				got[i] = strings.Replace(got[i], "r1.000003.xdsp", "r1.xdsp", 1)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has\n%s\nnot\n%s", c.what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		var want []string
		if c.what == "" {
			want = []string{"1 objects are left out: their keys are no plain paths"}
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q", c.what, told)
		}
	}
	for what, hint := range map[string]string{"none.xdsp": "", "none": "", "cluster=c": "end it with / to mean all recordings below it", first(1, long, "none.xdsp"): ""} {
		_, err := below(what, Options{})
		var missing *MissingError
		if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no recording "+base+what || missing.Hint() != hint {
			t.Errorf("%s: %v", what, err)
		}
	}

	// As a command has it.
	if got := described(all(t, base, Options{}), base); !slices.Equal(got, []string{lines["gw"], lines["l"], lines["1"], lines["2"], lines["3"]}) {
		t.Errorf("%q", got)
	}
	if err := refused(t.Context(), t, base+"none.xdsp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}

	// What is read is counted; of what is here, nothing is.
	found, err := below(first(1, long, "r1.xdsp"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := found[0]
	if n, b := r.Fetched(); n != 0 || b != 0 {
		t.Errorf("%d requests and %d bytes before anything was read", n, b)
	}
	reader, err := r.Open(t.Context(), nil)
	got := seqs(t, reader, err)
	size := int64(0)
	for _, f := range files[:4] {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if n, b := r.Fetched(); len(got) == 0 || got[0] != 1 || n < 8 || b < size || r.Size != size {
		t.Errorf("%d entries, %d requests and %d bytes, of a recording of %d, which are %d", len(got), n, b, r.Size, size)
	}
	if n, b := all(t, files[0], Options{})[0].Fetched(); n != 0 || b != 0 {
		t.Errorf("%d requests and %d bytes of a file", n, b)
	}
}

// That a store keeps us waiting is said once, with what is waited for.
func TestLate(t *testing.T) {
	var told []string
	l := &late{say: func(f string, a ...any) { told = append(told, fmt.Sprintf(f, a...)) }}
	l.tell("s3://b/x.xdsp", errors.New("cannot read s3://b/x.xdsp: busy"))
	l.tell("s3://b/x.xdsp", errors.New("busy"))
	if !slices.Equal(told, []string{"waiting for s3://b/x.xdsp: busy"}) {
		t.Errorf("%q", told)
	}
	(&late{}).tell("x", errors.New("busy")) // nobody wants to know
}

func TestParse(t *testing.T) {
	long := strings.Repeat("é", maxName/2)
	for _, c := range []struct{ above, path, want string }{
		{"", "session.xdsp", "|session|session 0 - /session"},
		{"", ".xdsp", ""},
		{"", ".session.xdsp", ""},
		{"", "a/.xdsp", ""},
		{"", "session.xdsp.notes", ""},
		{"", "session", ""},
		{"", "a/b/session.000012.xdsp", "|a/b/session|session 12 - a/b/session"},
		{"", "session.00012.xdsp", "|session.00012|session.00012 0 - /session.00012"},
		{"", "session.0000012.xdsp", "|session|session 12 - /session"},
		{"", "session.000000.xdsp", "|session.000000|session.000000 0 - /session.000000"},
		{"", "session.00001x.xdsp", "|session.00001x|session.00001x 0 - /session.00001x"},
		{"", "session.99999999999999999999.xdsp", "|session.99999999999999999999|session.99999999999999999999 0 - /session.99999999999999999999"},
		{"", "s.000001.xdsp", "|s|s 1 - /s"},
		{"", "cluster=c%2F1/date=2026-01-31/proxy=p/r.000001.xdsp", "c/1|p|r 1 2026-01-31 cluster=c%2F1/proxy=p/r"},
		{"s3://b/cluster=c/date=2026-01-31/", "proxy=p/r.xdsp", "c|p|r 0 2026-01-31 proxy=p/r"},
		{"/x/proxy=p/", "r.xdsp", "|p|r 0 - /r"},
		{"", "cluster=/proxy=/date=2026-13-01/r.xdsp", "|cluster=/proxy=/date=2026-13-01/r|r 0 - cluster=/proxy=/date=2026-13-01/r"},
		{"", "cluster=%zz/other=x/proxy=p/r.xdsp", "%zz|p|r 0 - cluster=%zz/other=x/proxy=p/r"},
		{"", "proxy=" + long + "/r.xdsp", "|" + long + "|r 0 - proxy=" + long + "/r"},
		{"", "proxy=x" + long + "/r.xdsp", "|x" + long[:maxName-2] + "…74705f1b|r 0 - proxy=x" + long + "/r"},
	} {
		n, is := parse(c.above, c.path)
		day, got := "-", ""
		if !n.date.IsZero() {
			day = n.date.Format(time.DateOnly)
		}
		if is {
			got = fmt.Sprintf("%s|%s|%s %d %s %s", n.cluster, n.proxy, n.recording, n.segment, day, n.group)
		}
		if got != c.want {
			t.Errorf("%.80s: %.300s\nnot %.300s", c.path, got, c.want)
		}
	}
	for n, want := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		if _, is := parse("", strings.Repeat("d", n-len("/x.xdsp"))+"/x.xdsp"); is != want {
			t.Errorf("a path of %d bytes: %v", n, is)
		}
	}
}

// Segments of days that nobody asked for are left out: those after the last day, and
// those before one that begins before the first.
func TestDays(t *testing.T) {
	root := t.TempDir()
	stored(t, root, "p", "r", []int{10, 11, 12, 13}, 1, slices.Repeat(named(t, t.TempDir(), "x.xdsp"), 4))
	at := func(day, hour int) time.Time { return time.Date(2026, 1, day, hour, 0, 0, 0, time.UTC) }
	east := func(d time.Time) time.Time { return d.In(time.FixedZone("", 14*3600)) }
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "4 10..13"},
		{Options{Since: at(12, 0)}, "3 11..13"},
		{Options{Since: at(12, 23)}, "3 11..13"},
		{Options{Since: at(13, 0)}, "2 12..13"},
		{Options{Since: at(14, 0)}, "1 13..13"},
		{Options{Since: at(20, 0)}, "1 13..13"},
		{Options{Until: at(11, 0)}, "2 10..11"},
		{Options{Until: at(10, 23)}, "1 10..10"},
		{Options{Until: at(9, 23)}, ""},
		{Options{Since: east(at(12, 23)), Until: east(at(12, 23))}, "2 11..12"},
	} {
		got := ""
		for _, r := range all(t, root, c.o) {
			got += fmt.Sprintf("%d %d..%d", r.Segments, r.First.Day(), r.Last.Day())
		}
		if got != c.want {
			t.Errorf("%v: %s, not %s", c.o, got, c.want)
		}
	}
}

// A recording that is named alone has the segments beside it; an older segment is
// read alone, and so is a file with any other name.
func TestOneRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster=c")
	files := named(t, dir, "x.000001.xdsp", "x.000002.xdsp", "x.xdsp")
	named(t, dir, "xy.xdsp", "y.xdsp", "x.xdsp.notes")
	newest := files[len(files)-1]
	plain := filepath.Join(dir, "upload")
	named(t, dir, "upload")
	for source, want := range map[string]string{
		newest:   fmt.Sprintf("c|x|x %d -..- x.xdsp", len(files)),
		files[1]: "c|x|x 1 -..- x.xdsp",
		plain:    "c|upload|upload 1 -..- upload.xdsp",
	} {
		if got := described(all(t, source, Options{}), dir+"/"); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, not %s", source, got, want)
		}
	}
	if err := os.Remove(newest); err != nil { // the segments that are there are the recording
		t.Fatal(err)
	}
	if got := described(all(t, newest, Options{}), dir+"/"); len(got) != 1 || got[0] != fmt.Sprintf("c|x|x %d -..- x.xdsp", len(files)-1) {
		t.Errorf("%q", got)
	}
	for _, source := range []string{filepath.Join(dir, "none.xdsp"), filepath.Join(dir, "none", "x.xdsp")} {
		if err := refused(t.Context(), t, source); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", source, err)
		}
	}
	// Who wants no more of them gets no more.
	for range Recordings(t.Context(), dir, Options{}) {
		break
	}
}

// A segment that cannot be read is passed over, and told of; an entry is looked for
// in one segment alone.
func TestOpenDamaged(t *testing.T) {
	dir := t.TempDir()
	files := record(t, dir, "x", 60)
	whole := all(t, dir, Options{})[0]
	lasts := 0
	for seq := session.Seq(1); seq <= 60; seq++ {
		reader, err := whole.OpenWith(t.Context(), seq)
		in := seqs(t, reader, err)
		if !slices.Contains(in, seq) {
			t.Errorf("entry %d is not in a segment from %d to %d", seq, in[0], in[len(in)-1])
		}
		if in[len(in)-1] == seq {
			lasts++
		}
	}
	if lasts != whole.Segments {
		t.Errorf("%d entries are the last of one of %d segments", lasts, whole.Segments)
	}
	for _, i := range []int{0, 2} {
		if err := os.WriteFile(files[i], []byte("PK"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := all(t, files[len(files)-1], Options{})[0]
	var told []string
	reader, err := r.Open(t.Context(), func(f string, a ...any) { told = append(told, fmt.Sprintf(f, a...)) })
	got := seqs(t, reader, err)
	if got[0] == 1 || got[len(got)-1] != 60 || len(told) != 2 || !strings.HasPrefix(told[0], "a segment is left out: ") || !strings.Contains(told[0], files[0]) || !strings.Contains(told[1], files[2]) {
		t.Errorf("entries from %d on, told %q", got[0], told)
	}
	reader, err = r.Open(t.Context(), nil)
	if again := seqs(t, reader, err); !slices.Equal(got, again) {
		t.Error("it is another one when nobody is told")
	}
	if _, err := r.OpenWith(t.Context(), 1); err == nil {
		t.Error("an entry of a damaged segment is found")
	} else if _, is := errors.AsType[*recorder.FormatError](err); !is {
		t.Error(err)
	}

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := whole.OpenWith(t.Context(), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Directories are entered so deep, and no deeper; what is hidden is not entered.
func TestDeep(t *testing.T) {
	root := t.TempDir()
	deep := root
	for range maxDepth {
		deep = filepath.Join(deep, "d")
	}
	named(t, deep, "in.xdsp")
	named(t, filepath.Join(deep, "d"), "below.xdsp")
	named(t, filepath.Join(root, ".hidden"), "h.xdsp")
	found := all(t, root, Options{})
	if len(found) != 1 || found[0].Name != "in" {
		t.Errorf("%q", described(found, root))
	}
}

// Too many files are refused, with what helps.
func TestTooMany(t *testing.T) {
	list := func(n int) func(func(object, error) bool) {
		return func(yield func(object, error) bool) {
			for range n {
				if !yield(object{key: "x.xdsp", path: "x.xdsp"}, nil) {
					return
				}
			}
		}
	}
	var many *TooManyError
	if _, err := gather("/r", directory{"/r"}, list(maxFiles+1), Options{}); !errors.As(err, &many) || err.Error() != "there are more than 500000 files below /r" || many.Hint() == "" {
		t.Error(err)
	}
	if _, err := gather("/r", directory{"/r"}, list(maxFiles), Options{}); err != nil {
		t.Error(err)
	}
	if _, err := gather("/r", directory{"/r"}, func(yield func(object, error) bool) { yield(object{}, objects.ErrNoBucket) }, Options{}); !errors.Is(err, objects.ErrNoBucket) {
		t.Error(err)
	}
}
