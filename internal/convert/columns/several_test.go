package columns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// partOf cuts a part out of a recording, as the command does.
func partOf(t *testing.T, from, to string, chosen func(session.Seq) bool, bare bool) string {
	t.Helper()
	facts, err := recorder.Inspect(from)
	if err != nil {
		t.Fatal(err)
	}
	walk := func(visit convert.Visit) error {
		r, err := recorder.Open(from)
		if err != nil {
			return err
		}
		defer r.Close()
		step := check.NewTracker(nil)
		for {
			e, err := r.Next(context.Background())
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			c := step.Step(&e)
			if err := visit(&e, &c, chosen(e.Seq)); err != nil {
				return err
			}
		}
	}
	if _, err := convert.Cut(to, facts, walk, convert.CutOptions{Bare: bare}); err != nil {
		t.Fatal(err)
	}
	return to
}

// exportAs exports a file as one of the sources of a recording.
func exportAs(t *testing.T, d *Dir, path string) Done {
	t.Helper()
	done, err := d.Export(Recording{Cluster: "c", Proxy: "p", Name: "r", Source: path}, check.NewChecker(check.Options{}), walkFile(path, 0))
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return done
}

// holds says which entries a directory has, each once, and that no connection is in it twice.
func holds(t *testing.T, what, root string, want []int64) {
	t.Helper()
	var got []int64
	closed, open := map[int64]int{}, map[int64]int{}
	for _, table := range []string{Entries, Connections} {
		files, err := filepath.Glob(filepath.Join(root, table, "*", "*", "*"+ending))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if table == Entries {
				rows, err := readRows[entryRow](path)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					got = append(got, r.Seq)
					if r.GapChosen != nil && *r.GapChosen {
						t.Errorf("%s: what was left out is the row %d", what, r.Seq)
					}
				}
				continue
			}
			rows, err := readRows[connectionRow](path)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Closed != nil {
					closed[r.Conn]++
				} else {
					open[r.Conn]++
				}
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: there are the entries %v, not %v", what, got, want)
	}
	for conn := range closed {
		if closed[conn] > 1 || open[conn] > 0 {
			t.Errorf("%s: connection %d is there %d times as closed, and %d times as open", what, conn, closed[conn], open[conn])
		}
	}
	for conn := range open {
		if open[conn] > 1 {
			t.Errorf("%s: connection %d is there %d times as open", what, conn, open[conn])
		}
	}
}

// standsIn is what is told of a recording as a whole.
func standsIn(t *testing.T, root string) string {
	t.Helper()
	var rows []string
	for _, table := range []string{Findings, Clients} {
		files, err := filepath.Glob(filepath.Join(root, table, "*", "*", "*"+ending))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			rows = append(rows, rowsOf(t, table, path)...)
		}
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// foundIn are the findings, without what is counted.
func foundIn(t *testing.T, root string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, Findings, "*", "*", "*"+ending))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		rows, err := readRows[findingRow](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			out = append(out, fmt.Sprint(r.Rule, r.Client, r.Type, r.Names))
		}
	}
	return out
}

const twoClients = `
C> type=CDS V= N= R=[] node=n1/c ua=envoy/1.30.0
S< type=CDS V=1 N=a res=[c1{eds},c2{eds}]
C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[c1,c2]
S< type=EDS V=1 N=e res=[c1,c2]
t=+2s C> type=EDS V= N=e R=[c1,c2] err="no such locality"
-- client-end
-- stream 2
D> type=LDS N= sub=[] node=n2/c ua=grpc-go/1.60.0
d< type=LDS N=l res=[l1@1,l2@1]
t=+10h D> type=LDS N=l
d< type=LDS N=m res=[l1@2] rm=[l2]
t=+20h D> type=LDS N=m err="bad" code=3
-- client-end
`

// Several parts of a recording and it itself, in whatever order, in one run or in one
// after the other, give each entry once: none is lost because it was left out of a part,
// and none is written for it in place of another.
func TestSeveralSources(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.xdsp")
	record(t, whole, twoClients, 0)
	facts, err := recorder.Inspect(whole)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(facts.LastSeq)
	var all []int64
	for seq := range last {
		all = append(all, seq+1)
	}
	choices := map[string]func(session.Seq) bool{
		"ends": func(s session.Seq) bool { return s == 1 || int64(s) == last },
		"tail": func(s session.Seq) bool { return s > 8 },
		"odd":  func(s session.Seq) bool { return s%2 == 1 },
		"even": func(s session.Seq) bool { return s%2 == 0 },
	}
	parts := map[string]string{"whole": whole}
	for name, chosen := range choices {
		parts[name] = partOf(t, whole, filepath.Join(dir, name+".xdsp"), chosen, name == "odd" || name == "tail")
	}
	choices["whole"] = func(session.Seq) bool { return true }
	if slow {
		parts = map[string]string{"whole": whole, "odd": parts["odd"]}
	}
	wanted := func(names ...string) (out []int64) {
		for _, seq := range all {
			if slices.ContainsFunc(names, func(n string) bool {
				return choices[n](session.Seq(seq))
			}) {
				out = append(out, seq)
			}
		}
		return out
	}
	once := t.TempDir()
	d := openDir(t, once, Options{})
	exportAs(t, d, whole)
	closeDir(t, d)
	stands := standsIn(t, once)
	for a := range parts {
		for b := range parts {
			what := a + " and " + b
			after, together, beside := t.TempDir(), t.TempDir(), t.TempDir()
			var found []string
			for _, name := range []string{a, b, a, b} {
				d := openDir(t, after, Options{})
				exportAs(t, d, parts[name])
				closeDir(t, d)
				was := found
				found = foundIn(t, after)
				for _, f := range was {
					if name != "whole" && !slices.Contains(found, f) { // which knows better
						t.Errorf("%s: what was found is gone: %s", what, f)
					}
				}
			}
			holds(t, what+", one run after the other", after, wanted(a, b))
			d := openDir(t, together, Options{PartBytes: 500})
			sum := exportAs(t, d, parts[a]).Entries + exportAs(t, d, parts[b]).Entries
			if again := exportAs(t, d, parts[a]); again != (Done{}) || int(sum) != len(wanted(a, b)) {
				t.Errorf("%s: %d entries, and then %+v", what, sum, again)
			}
			closeDir(t, d)
			holds(t, what+", in one run", together, wanted(a, b))
			d = openDir(t, beside, Options{})
			var both sync.WaitGroup
			for _, name := range []string{a, b} {
				both.Go(func() { exportAs(t, d, parts[name]) })
			}
			both.Wait()
			closeDir(t, d)
			holds(t, what+", at once", beside, wanted(a, b))
			// The recording itself ends what parts have begun, and tells how it stands.
			d = openDir(t, beside, Options{})
			added := exportAs(t, d, whole).Entries
			closeDir(t, d)
			holds(t, what+" and the whole", beside, all)
			if is := standsIn(t, beside); added > 0 && is != stands {
				t.Errorf("%s and the whole: it stands\n%s\nnot\n%s", what, is, stands)
			}
			d = openDir(t, beside, Options{})
			if done := exportAs(t, d, whole); done.Entries != 0 {
				t.Errorf("%s: %+v once more", what, done)
			}
			if !d.Has(Recording{Cluster: "c", Name: "r"}, 1, last) {
				t.Errorf("%s: it is not known that all of it is there", what)
			}
			closeDir(t, d)
		}
	}
}

// A connection whose end is in one part, and which seems to be open by another, is closed.
func TestConnectionsOfParts(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.xdsp")
	log, err := recorder.Create(whole, recorder.Options{NoTicks: true, Masked: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, conn := range []session.ConnID{1, 2, 1, 3, 2, 4} {
		kind := session.KindConnect
		if i == 2 || i == 4 {
			kind = session.KindDisconnect
		}
		log.Append(session.Entry{Kind: kind, Side: session.Client, Conn: conn, Time: time.Unix(1_800_000_000+int64(i), 0)})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	ends := func(s session.Seq) bool { return s == 3 || s == 5 }
	first := func(s session.Seq) bool { return s == 3 }
	begins := func(s session.Seq) bool { return !ends(s) }
	for what, c := range map[string]struct {
		parts []func(session.Seq) bool
		want  []int64
		open  int
	}{
		"begins first":          {[]func(session.Seq) bool{begins, ends}, []int64{1, 2, 3, 4, 5, 6}, 2},
		"ends first":            {[]func(session.Seq) bool{ends, begins}, []int64{1, 2, 3, 4, 5, 6}, 2},
		"begins and one ends":   {[]func(session.Seq) bool{begins, first}, []int64{1, 2, 3, 4, 6}, 3},
		"one ends, and all":     {[]func(session.Seq) bool{first, begins, ends}, []int64{1, 2, 3, 4, 5, 6}, 2},
		"all open ones, closed": {[]func(session.Seq) bool{func(s session.Seq) bool { return s <= 2 }, ends}, []int64{1, 2, 3, 5}, 0},
		"the open one, closed":  {[]func(session.Seq) bool{func(s session.Seq) bool { return s == 1 || s == 5 }, first}, []int64{1, 3, 5}, 0},
	} {
		for _, together := range []bool{false, true} {
			root := t.TempDir()
			d := openDir(t, root, Options{})
			for i, chosen := range c.parts {
				exportAs(t, d, partOf(t, whole, filepath.Join(t.TempDir(), fmt.Sprintf("%d.xdsp", i)), chosen, true))
				if !together {
					closeDir(t, d)
					d = openDir(t, root, Options{})
				}
			}
			closeDir(t, d)
			holds(t, what, root, c.want)
			open, err := filepath.Glob(filepath.Join(root, Connections, "*", "*", "*"+openMark+ending))
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, path := range open {
				all, err := readRows[connectionRow](path)
				if err != nil {
					t.Fatal(err)
				}
				rows += len(all)
			}
			if rows != c.open || (rows > 0) != (len(open) > 0) {
				t.Errorf("%s: %d connections are open, not %d; in %q", what, rows, c.open, open)
			}
		}
	}
}
