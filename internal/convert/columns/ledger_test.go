package columns

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// rowsOf are the rows of a file, as text.
func rowsOf(t *testing.T, table, path string) (out []string) {
	t.Helper()
	at := time.Unix(0, 0)
	var err error
	show := func(v any, of who) {
		line := golden.Compact(v, at)
		if of != (who{}) {
			line += fmt.Sprintf(" of %+v", of)
		}
		out = append(out, line)
	}
	switch table {
	case Entries:
		var rows []entryRow
		if rows, err = readRows[entryRow](path); err == nil {
			for _, r := range rows {
				show(r, r.who)
			}
		}
	case Acks:
		var rows []ackRow
		if rows, err = readRows[ackRow](path); err == nil {
			for _, r := range rows {
				show(r, r.who)
			}
		}
	case Connections:
		var rows []connectionRow
		if rows, err = readRows[connectionRow](path); err == nil {
			for _, r := range rows {
				show(r, r.who)
			}
		}
	case Findings:
		var rows []findingRow
		if rows, err = readRows[findingRow](path); err == nil {
			for _, r := range rows {
				show(r, r.who)
			}
		}
	case Clients:
		var rows []clientRow
		if rows, err = readRows[clientRow](path); err == nil {
			for _, r := range rows {
				show(r, r.who)
			}
		}
	case Resources:
		var rows []resourceRow
		if rows, err = readRows[resourceRow](path); err == nil {
			for _, r := range rows {
				show(r, who{})
			}
		}
	case Bodies:
		var rows []bodyRow
		if rows, err = readRows[bodyRow](path); err == nil {
			for _, r := range rows {
				out = append(out, fmt.Sprintf("%s %d bytes", r.Content, len(r.Bytes)))
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tablesOf are the files of a directory of tables with their rows, as text.
func tablesOf(t *testing.T, root string) string {
	t.Helper()
	var files []string
	chance := regexp.MustCompile(`contents-[0-9a-f]+`)
	for _, table := range Tables {
		err := filepath.WalkDir(filepath.Join(root, table), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			var b strings.Builder
			fmt.Fprintf(&b, "== %s\n", chance.ReplaceAllString(rel, "contents-ID"))
			for _, key := range []string{keySchema, keyTable, keyRecording, keyFirst, keyLast, keyWrote} {
				if value, is := metaOf(path, key); is {
					fmt.Fprintf(&b, "%s: %s\n", key, value)
				}
			}
			for _, row := range rowsOf(t, table, path) {
				b.WriteString(row + "\n")
			}
			files = append(files, b.String())
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	return strings.Join(files, "")
}

// The tables of conversations with entries of every kind, row by row.
func TestRows(t *testing.T) {
	for _, name := range []string{"aggregated", "beside", "delta", "effect"} {
		text, err := os.ReadFile("../../render/testdata/told/" + name + ".xds")
		if err != nil {
			t.Fatal(err)
		}
		path, root := filepath.Join(t.TempDir(), "made.xdsp"), t.TempDir()
		record(t, path, string(text), 0)
		d := openDir(t, root, Options{Program: "xdsproxy 1"})
		done, err := d.Export(Recording{Cluster: "a/b", Proxy: "p1", Name: name, Key: "k"}, check.NewChecker(check.Options{}), walkFile(path, 0))
		if err != nil {
			t.Fatal(err)
		}
		closeDir(t, d)
		golden.Is(t, filepath.Join("testdata", "rows-"+name+".txt"), fmt.Sprintf("%+v\n%s", done, tablesOf(t, root)))
	}
}

// The sessions of real clients and servers have what no script has: addresses, TLS, what is masked.
func TestRowsOfSessions(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root, Options{Program: "xdsproxy 1"})
	for _, name := range []string{"envoy-sotw-nack", "rest-nack"} {
		done, err := d.Export(Recording{Cluster: "c", Proxy: "p1", Name: name}, check.NewChecker(check.Options{}), walkFile("../../../check/testdata/sessions/"+name+".xdsp", 0))
		if err != nil || done.Entries == 0 {
			t.Fatal(done, err)
		}
	}
	closeDir(t, d)
	golden.Is(t, filepath.Join("testdata", "rows-sessions.txt"), tablesOf(t, root))
}

// A recording that is exported again and again while it grows, is cut into parts, and loses its beginning.
func TestRowsAgain(t *testing.T) {
	const text = `
C> type=CDS V= N= R=[] node=n1/c ua=envoy/1.30.0
S< type=CDS V=1 N=a res=[c1{eds},c2{eds}]
C> type=CDS V=1 N=a R=[]
t=+20h C> type=EDS V= N= R=[c1,c2]
S< type=EDS V=1 N=e res=[c1,c2]
t=+2s C> type=EDS V= N=e R=[c1,c2] err="no such locality"
-- stream 2
D> type=LDS N= sub=[] node=n2/c ua=grpc-go/1.60.0
d< type=LDS N=l res=[l1@1,l2@1]
t=+10h D> type=LDS N=l
d< type=LDS N=m res=[l1@2] rm=[l2]
D> type=LDS N=m err="bad" code=3
d< type=LDS N=n res=[l1@1]
D> type=LDS N=n
-- client-end
`
	path, root := filepath.Join(t.TempDir(), "made.xdsp"), t.TempDir()
	record(t, path, text, 0)
	of := Recording{Cluster: "c", Proxy: "p", Name: "r", Key: "k"}
	var b strings.Builder
	say := func(what string, o Options, from, to session.Seq) {
		d := openDir(t, root, o)
		walk := walkFile(path, to)
		cut := func(step *check.Checker, visit func(*session.Entry, *check.Change) error) error {
			return walk(step, func(e *session.Entry, c *check.Change) error {
				if e.Seq < from {
					return nil
				}
				return visit(e, c)
			})
		}
		done, err := d.Export(of, check.NewChecker(check.Options{}), cut)
		fmt.Fprintf(&b, "#### %s: %+v, %v", what, done, err)
		if again, err := d.Export(of, check.NewChecker(check.Options{}), cut); again != (Done{}) || err != nil {
			t.Errorf("it is exported again: %+v, %v", again, err)
		}
		closeDir(t, d)
		d = openDir(t, root, o)
		for _, s := range [][2]int64{{1, 1}, {1, 5}, {1, 6}, {1, 100}, {3, 5}, {5, 7}, {8, 9}, {9, 12}} {
			if d.Has(of, s[0], s[1]) {
				fmt.Fprintf(&b, " has %v", s)
			}
		}
		closeDir(t, d)
		b.WriteString("\n" + tablesOf(t, root))
	}
	say("to 5", Options{}, 0, 5)
	say("to 5 once more", Options{}, 0, 5)
	say("from 4 to 9", Options{}, 4, 9)
	say("from 12", Options{}, 12, 0)
	say("all", Options{PartBytes: 600}, 0, 0)
	say("nothing more", Options{}, 0, 0)
	root = t.TempDir()
	say("from 7", Options{}, 7, 0)
	root = t.TempDir()
	say("since the second day", Options{Since: startOf(t, path).Add(20 * time.Hour)}, 0, 0)
	golden.Is(t, filepath.Join("testdata", "rows-again.txt"), b.String())
}

// startOf is when a recording begins.
func startOf(t *testing.T, path string) (at time.Time) {
	t.Helper()
	err := walkFile(path, 1)(check.NewChecker(check.Options{}), func(e *session.Entry, _ *check.Change) error {
		at = e.Time
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Names of parts and of partitions are read as they are written, and nothing else is one.
func TestNames(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{
		"r-01.1-5.parquet", "r-01.0-0.parquet", "r-01.5-5.parquet", "r-01.5-4.parquet", "r-01.-1-4.parquet", "r-01.01-4.parquet", "r.x.1-2.parquet",
		"1-2.parquet", ".1-2.parquet", "r.1.parquet", "r.1-.parquet", "r.1-2", "r.1-2.open.parquet", "r.1-2.holes.parquet", "r.holes.parquet", "r.1-2.holes.holes.parquet", "r.1-99999999999999999999.parquet",
	} {
		base, s, holes, is := parsePart(name)
		fmt.Fprintf(&b, "%s: %q %d %d %v%s\n", name, base, s.first, s.last, is, map[bool]string{true: " with holes"}[holes])
	}
	for _, value := range []string{"", "a", "a.b", ".a", "a/b", "az-AZ_09", "é", "a b", "%", "\xff", "/:@[`{"} {
		fmt.Fprintf(&b, "%q: %s\n", value, Partition(value))
	}
	for _, name := range []string{"", "az-AZ_09", "/:@[`{", strings.Repeat("n", maxBase), strings.Repeat("n", maxBase+1)} {
		fmt.Fprintf(&b, "%q: %s\n", name, base("c", "k", name))
	}
	for _, list := range [][]string{nil, {"a"}, {"a", "\xff", "b", "c\xfe"}, {"\xfd"}} {
		fmt.Fprintf(&b, "%q: %q\n", list, texts(list))
	}
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 999), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.UnixMicro(mostMicros), time.UnixMicro(mostMicros).Add(time.Microsecond), time.UnixMicro(leastMicros), time.UnixMicro(leastMicros).Add(-time.Microsecond)} {
		fmt.Fprintf(&b, "%v: %s %d\n", at.UTC(), golden.Compact(micros(at), at), microsOf(at))
	}
	golden.Is(t, filepath.Join("testdata", "names.txt"), b.String())
}

// The spans of what was exported are joined where they meet.
func TestSpans(t *testing.T) {
	for _, test := range []struct{ in, want []span }{
		{nil, nil},
		{[]span{{5, 6}, {1, 3}}, []span{{1, 3}, {5, 6}}},
		{[]span{{4, 6}, {1, 3}}, []span{{1, 6}}},
		{[]span{{1, 9}, {2, 3}, {10, 10}, {12, 12}}, []span{{1, 10}, {12, 12}}},
	} {
		have := &there{spans: append([]span(nil), test.in...)}
		have.join()
		if fmt.Sprint(have.spans) != fmt.Sprint(test.want) {
			t.Errorf("%v become %v, not %v", test.in, have.spans, test.want)
		}
		for seq := int64(0); seq < 14; seq++ {
			want := false
			for _, s := range test.want {
				want = want || s.first <= seq && seq <= s.last
			}
			if have.covers(seq) != want {
				t.Errorf("of %v, %d is one: %v", test.want, seq, !want)
			}
		}
	}
}
