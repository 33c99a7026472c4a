package timeline

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// halfway gives some entries, and no more until its context is done, which it tells as
// an end.
type halfway struct {
	index.Reader
	left int
	at   chan struct{} // closed when it has given them
}

func (r *halfway) Next(ctx context.Context) (session.Entry, error) {
	if r.left--; r.left < 0 {
		close(r.at)
		<-ctx.Done()
		return session.Entry{}, ctx.Err()
	}
	return r.Reader.Next(ctx)
}

// While a recording is read, what is not yet has its place in the list, behind what is
// folded there, and says what the entry itself says once that was looked at.
func TestUnreadEntriesHavePlaces(t *testing.T) {
	scr := viewtest.New(t, viewtest.Record(t, loop(t)...))
	r, err := scr.Log().Open()
	if err != nil {
		t.Fatal(err)
	}
	in := &halfway{Reader: r, left: 1000, at: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		scr.Log().Feed.Run(ctx, in, false, nil)
	}()
	t.Cleanup(func() { stop(); <-over; r.Close() })
	<-in.at
	const last = 2 * loopRounds
	scr.Log().Last = last

	v := New(false)
	v.Settle(scr)
	n, read := scr.Log().Index.Extent()
	all := listed(scr, v)
	unread := slices.Index(all, read+1)
	if len(v.folds.hidden) == 0 || unread != n-len(v.folds.hidden) || len(all) != v.total(scr) || len(all)-unread != last-int(read) {
		t.Fatalf("of %d rows %d are hidden; %d are listed, total %d, the first unread one is at %d", n, len(v.folds.hidden), len(all), v.total(scr), unread)
	}
	for i := unread; i < len(all); i++ {
		if all[i] != read+1+session.Seq(i-unread) {
			t.Fatalf("entry %d is at %d", all[i], i)
		}
	}
	for _, from := range []int{unread - 2, unread, unread + 5, len(all) - 2} {
		rows := v.rows(scr, from, 4)
		if want := min(4, len(all)-from); len(rows) != want || rows[0].Seq != all[from] || rows[want-1].Seq != all[from+want-1] {
			t.Errorf("from %d on: %d rows, the first is %d", from, len(rows), rows[0].Seq)
		}
	}

	scr.Run(v.GoTo(scr, last-1))
	scr.Frame(v, 100, 6)
	scr.Run(v.Tick(scr)) // which reads what is visible
	frame := scr.Frame(v, 100, 6)
	row, ok := v.row(scr)
	if w := v.words(scr, &row); !ok || row.Seq != last-1 || row.Kind != session.KindMessage || w.Type != "LDS" || strings.Contains(frame, "reading") {
		t.Errorf("the row is %+v, %+v\n%s", row, w, frame)
	}
	if other := v.rows(scr, unread+5, 1)[0]; other.Flags != index.Unread || v.words(scr, &other).Text != "reading" {
		t.Errorf("one that nobody looked at is %+v", other)
	}
}

// Wherever a recording ends for now, nothing is hidden under a row that is not there yet.
func TestFoldsOfWhatComes(t *testing.T) {
	source := viewtest.File(filepath.Join(root, "check", "testdata", "sessions", "rest-in-full.xdsp"))
	whole := viewtest.New(t, source).Read(t).Log().Index.Len()
	early := false
	for n := 1; n <= whole; n += 11 {
		scr := viewtest.New(t, source)
		r, err := scr.Log().Open()
		if err != nil {
			t.Fatal(err)
		}
		scr.Log().Feed.Run(t.Context(), &short{r, n}, false, nil)
		r.Close()
		v := New(false)
		v.Settle(scr)
		x := scr.Log().Index
		if got := listed(scr, v); len(got)+len(v.folds.hidden) != x.Len() || len(got) != v.total(scr) {
			t.Fatalf("of %d entries %d are listed, %d hidden, total %d", n, len(got), len(v.folds.hidden), v.total(scr))
		}
		for _, f := range v.folds.all {
			if f.Head == 0 && x.Len()-int(f.Row) < unsettled {
				t.Fatalf("of %d entries row %d is hidden, and nobody knows under what", n, f.Row)
			}
		}
		early = early || len(v.folds.all) > 0 && len(x.Folds(nil, 0)) > len(v.folds.all)
	}
	if !early {
		t.Error("the head of no row came late")
	}
}

// Short waits are told to a tenth of a millisecond.
func TestWaits(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		40 * time.Microsecond: "0.0", 9940 * time.Microsecond: "9.9", 10*time.Millisecond - time.Microsecond: "10.0",
		10 * time.Millisecond: "10", 1_234_567 * time.Microsecond: "1,234",
	} {
		s, err := script.Parse("wait.xds", []byte("C> type=LDS V= N= R=[a] node=n\nS< type=LDS V=1 N=1 res=[a]\nC> type=LDS V=1 N=1 R=[a]\n"))
		if err != nil {
			t.Fatal(err)
		}
		entries := slices.Collect(s.Entries())
		n := len(entries)
		entries[n-1].Time = entries[n-2].Time.Add(wait)
		x := viewtest.New(t, viewtest.Record(t, entries...)).Read(t).Log().Index
		row, _ := x.Row(x.Len() - 1)
		if got := waitText(&row); got != want {
			t.Errorf("after %s: %s", wait, got)
		}
		if first, _ := x.Row(x.Len() - 3); waitText(&first) != "-" {
			t.Errorf("a request that answers nothing has waited %s", waitText(&first))
		}
	}
}

// Where all rows are of one client its column gives its room to the summary, and a line
// is as long as before.
func TestColumnsOfOneClient(t *testing.T) {
	for _, name := range []string{"aggregated", "beside"} {
		scr := viewtest.Told(t, root, name)
		for _, w := range []int{110, 140, 200} {
			all, one := New(false), New(false)
			cmd, err := one.Ask(scr, "client:c1")
			if err != nil {
				t.Fatal(err)
			}
			scr.Run(cmd)
			a, b := all.columns(scr, w), one.columns(scr, w)
			if a.client == 0 || b.client != 0 || a.fixed()+a.summary != b.fixed()+b.summary || a.fixed()+a.summary+1 != w {
				t.Errorf("%s, %d wide: %+v, of one client %+v", name, w, a, b)
			}
		}
	}
}
