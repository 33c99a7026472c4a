package columns

import (
	"bufio"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// days is a conversation of some clients over days: rounds in which clusters and
// endpoints change, some of which are rejected, and reconnects now and then.
func days(clients, rounds int, every time.Duration) string {
	var b strings.Builder
	stream := 0
	open := make([]int, clients)
	fmt.Fprintln(&b, "-- stream 1")
	for c := range clients {
		stream++
		open[c] = stream
		if stream > 1 {
			fmt.Fprintf(&b, "-- stream %d\n", stream)
		}
		fmt.Fprintf(&b, "@%d C> type=CDS V= N= R=[] node=gw-%d/edge ua=envoy/1.3%d.0\n", stream, c, c%3)
	}
	for r := range rounds {
		fmt.Fprintf(&b, "t=+%s -- tick\n", every)
		for c := range clients {
			version := r + 1
			fmt.Fprintf(&b, "@%d S< type=CDS V=%d N=n%d-%d res=[a%d#h%d,b#h%d]\n", open[c], version, r, c, c, r%7, r/5)
			if r%11 == 5 && c%2 == 0 {
				fmt.Fprintf(&b, "t=+0.2s @%d C> type=CDS V=%d N=n%d-%d R=[] err=\"b: no such thing\" code=13\n", open[c], version-1, r, c)
				continue
			}
			fmt.Fprintf(&b, "t=+0.05s @%d C> type=CDS V=%d N=n%d-%d R=[]\n", open[c], version, r, c)
		}
	}
	return b.String()
}

// record writes a script as a recording, in segments if max is not 0.
func record(t testing.TB, path, text string, max int64) {
	t.Helper()
	s, err := script.Parse("x.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	account, cut := engine.New(engine.Options{Envelopes: true}), chunk.NewSplitter()
	log, err := recorder.Create(path, recorder.Options{
		NoTicks: true, Masked: true, MaxSize: max, Carry: account.Needed, QueueBytes: 1 << 30, SyncEvery: -1,
		Transform: func(e *session.Entry) { cut.Transform(e); account.Step(e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e := range s.Entries() {
		log.Append(e)
		// What waits together is written together, into one segment.
		for n++; max > 0 && n%100 == 0 && log.Stats().Queued > 0; {
			time.Sleep(time.Millisecond)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// everything is all that is in a directory, but for where contents were met first.
func everything(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	var all []string
	for _, sql := range []string{
		"SELECT 'e', * FROM entries ORDER BY recording, seq", "SELECT 'a', * FROM acks ORDER BY recording, seq",
		"SELECT 'c', * FROM connections ORDER BY recording, conn", "SELECT 'f', * FROM findings ORDER BY recording, first_at, rule, client, message",
		"SELECT 's', * FROM clients ORDER BY recording, client, address, type",
		"SELECT 'r', * EXCLUDE (proxy, recording, seq, time, cluster, date) FROM resources ORDER BY content",
		"SELECT 'b', * EXCLUDE (cluster, date) FROM bodies ORDER BY content",
	} {
		all = append(all, "SELECT (x)::VARCHAR AS v FROM ("+sql+") x")
	}
	for _, row := range ask(t, root, strings.Join(all, "\n;\n")) {
		fmt.Fprintln(&b, row["v"])
	}
	return b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s: %d rows and %d; row %d is\n%s\nnot\n%s", what, len(a), len(b), i, a[i], b[i])
		}
	}
	t.Fatalf("%s: %d rows, not %d", what, len(a), len(b))
}

// A recording that grows, read again and again while it does, gives the same rows as
// one that is read once: verdicts on what came before are in neither lost nor doubled.
func TestGrowing(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(5, 60, 97*time.Minute), 0)
	once := t.TempDir()
	d := openDir(t, once, Options{})
	all := exportFile(t, d, path, 0)
	closeDir(t, d)
	want := everything(t, once)
	if n := strings.Count(want, "\n"); n < 1000 {
		t.Fatalf("only %d rows", n)
	}
	if dates := ask(t, once, "SELECT count(DISTINCT date) AS n FROM entries")[0]["n"]; dates.(float64) < 4 {
		t.Fatalf("%v dates", dates)
	}
	again := t.TempDir()
	var sum uint64
	for stop := session.Seq(1); ; stop += 37 {
		d := openDir(t, again, Options{PartBytes: 4000})
		if stop > session.Seq(all.Read) {
			stop = 0
		}
		sum += exportFile(t, d, path, stop).Entries
		closeDir(t, d)
		if stop == 0 {
			break
		}
	}
	if sum != all.Entries {
		t.Errorf("%d entries were written, not %d", sum, all.Entries)
	}
	same(t, "piece by piece", everything(t, again), want)
	d = openDir(t, again, Options{})
	if done := exportFile(t, d, path, 0); done.Entries != 0 {
		t.Errorf("%d entries once more", done.Entries)
	}
	closeDir(t, d)
	// It is named twice.
	twice := t.TempDir()
	d = openDir(t, twice, Options{})
	exportFile(t, d, path, 0)
	exportFile(t, d, path, 0)
	closeDir(t, d)
	same(t, "named twice", everything(t, twice), want)
	same(t, "once more", everything(t, again), want)
}

// Since leaves out what was before; a run without it adds that.
func TestSince(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(3, 60, 97*time.Minute), 0)
	once, late := t.TempDir(), t.TempDir()
	d := openDir(t, once, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	middle := ask(t, once, "SELECT time FROM entries ORDER BY seq LIMIT 1 OFFSET 150")[0]["time"].(string)
	since, err := time.Parse(stamp, middle)
	if err != nil {
		t.Fatal(err)
	}
	d = openDir(t, late, Options{Since: since})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	count := fmt.Sprintf("SELECT count(*) AS n, min(time) AS least, (SELECT count(*) FROM entries WHERE time >= TIMESTAMPTZ '%s') AS late FROM entries", middle)
	got, want := ask(t, late, count)[0], ask(t, once, count)[0]
	if got["n"] != want["late"] || got["least"] != middle || got["n"] == want["n"] {
		t.Errorf("%v, of %v", got, want)
	}
	d = openDir(t, late, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	same(t, "all of it after that", everything(t, late), everything(t, once))
}

// Segments that are deleted after they were exported take no row with them, and what
// is found in those that are left is the same finding.
func TestSegments(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "gw.xdsp")
	record(t, path, days(4, 300, 61*time.Minute), 4<<10)
	segments, _ := filepath.Glob(filepath.Join(dir, "gw.0*.xdsp"))
	if len(segments) < 2 {
		t.Fatalf("only %d segments", len(segments))
	}
	once := t.TempDir()
	d := openDir(t, once, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	// A segment is deleted when all of it and some of the next one was exported.
	aside := filepath.Join(t.TempDir(), "aside")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(segments[0], aside)
	var first session.Seq
	_ = walkFile(path, 0)(check.NewChecker(check.Options{}), func(e *session.Entry, _ *check.Change) error {
		if !e.Carried && first == 0 {
			first = e.Seq
		}
		return nil
	})
	move(aside, segments[0])
	cut := t.TempDir()
	d = openDir(t, cut, Options{})
	exportFile(t, d, path, first+21)
	closeDir(t, d)
	move(segments[0], aside)
	const found = "SELECT rule, client, first_at, message, seqs FROM findings ORDER BY rule, client, first_at, message"
	before := ask(t, cut, found)
	d = openDir(t, cut, Options{})
	done, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
	if err != nil {
		t.Fatal(err)
	}
	closeDir(t, d)
	if done.Missed != 0 {
		t.Errorf("%d entries are missed", done.Missed)
	}
	after := ask(t, cut, found)
	for _, f := range before {
		if !slices.ContainsFunc(after, func(g map[string]any) bool { return fmt.Sprint(f) == fmt.Sprint(g) }) {
			t.Errorf("a finding is gone: %v", f)
		}
	}
	d = openDir(t, cut, Options{})
	if _, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0)); err != nil {
		t.Fatal(err)
	}
	closeDir(t, d)
	if again := ask(t, cut, found); fmt.Sprint(again) != fmt.Sprint(after) || len(before) == 0 {
		t.Errorf("findings of the run after it: %v, not %v", again, after)
	}
	for _, sql := range []string{
		"SELECT seq, time, kind, what, version, nonce, answers FROM entries ORDER BY seq",
		"SELECT seq, time, verdict, response_seq, response_time, latency_us, version, client FROM acks ORDER BY seq",
		"SELECT content FROM resources ORDER BY content",
	} {
		got, want := ask(t, cut, sql), ask(t, once, sql)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			for i := range min(len(got), len(want)) {
				if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
					t.Errorf("%s: %d and %d rows, the %dth is\n%v\nnot\n%v", sql, len(got), len(want), i, got[i], want[i])
					break
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d rows, not %d", sql, len(got), len(want))
			}
		}
	}
	// Nobody exported the first segment here.
	d = openDir(t, t.TempDir(), Options{})
	done, err = d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
	if err != nil || done.Missed == 0 {
		t.Errorf("%+v %v", done, err)
	}
	closeDir(t, d)
}

// TestMain is, if it is asked to be, an export that somebody kills.
func TestMain(m *testing.M) {
	if root := os.Getenv("COLUMNS_EXPORT"); root != "" {
		d, err := Open(root, Options{PartBytes: 3000, quick: true})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("begun")
		files := filepath.SplitList(os.Getenv("COLUMNS_FILES"))
		done := make(chan error)
		for _, path := range files {
			go func() {
				_, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
				done <- err
			}()
		}
		for range files {
			if err := <-done; err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		if err := d.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An export that is killed at any moment leaves only whole files, no row twice, and the
// next one gives what one that was not killed gives.
func TestKilled(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	dir := t.TempDir()
	var files []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("gw-%d.xdsp", i))
		record(t, path, days(4, 50+10*i, 97*time.Minute), 0)
		files = append(files, path)
	}
	once := t.TempDir()
	d := openDir(t, once, Options{PartBytes: 3000})
	for _, path := range files {
		exportFile(t, d, path, 0)
	}
	closeDir(t, d)
	want := everything(t, once)
	run := func(root string, after <-chan time.Time) bool {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "COLUMNS_EXPORT="+root, "COLUMNS_FILES="+strings.Join(files, string(filepath.ListSeparator)))
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Its moments count from when it begins to write, not from when it starts.
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		begun := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if after == nil {
			if err := <-ended; err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			whole = time.Since(begun)
			return true
		}
		select {
		case err := <-ended:
			return err == nil
		case <-after:
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-ended
			return false
		}
	}
	run(t.TempDir(), nil)
	t.Logf("one takes %v", whole)
	killed, between := 0, 0
	keys := map[string]string{Entries: "(recording, seq)", Resources: "content"}
	for n := range 5 {
		root := t.TempDir()
		for try := range 3 {
			at := time.Duration(rand.Int64N(int64(whole)))
			moment := time.After(at)
			if try == 0 { // not before something is there
				moment = someEntries(root, at/2)
			}
			if run(root, moment) {
				break
			}
			killed++
			there := map[string]int{} // files of a table
			_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, _ error) error {
				if e != nil && !e.IsDir() && strings.HasSuffix(path, ending) {
					if strings.Contains(path, incomplete) {
						t.Errorf("%s has the name of a whole file", path)
					}
					for table := range keys {
						if strings.Contains(path, "/"+table+"/") {
							there[table]++
						}
					}
					if _, is := metaOf(path, keySchema); !is {
						t.Errorf("%s is no whole file", path)
					}
				}
				return nil
			})
			if there[Entries] > 0 {
				between++
			}
			for table := range there {
				twice := ask(t, root, fmt.Sprintf("SELECT count(*) - count(DISTINCT %s) AS n FROM %s", keys[table], table))[0]
				if number(twice["n"]) != 0 {
					t.Errorf("rows of %s are there twice: %v", table, twice)
				}
			}
		}
		run(root, nil)
		same(t, fmt.Sprintf("directory %d", n), everything(t, root), want)
		if left, _ := os.ReadDir(filepath.Join(root, incomplete)); len(left) != 1 {
			t.Errorf("%d files are left", len(left)-1)
		}
	}
	t.Logf("killed %d times, %d of them with something there", killed, between)
	if killed < 5 || between < 2 {
		t.Errorf("killed %d times, and something was there %d times", killed, between)
	}
}

var whole time.Duration

// someEntries tells when the first file of entries has been there for a while.
func someEntries(root string, while time.Duration) <-chan time.Time {
	told := make(chan time.Time, 1)
	go func() {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if files, _ := filepath.Glob(filepath.Join(root, Entries, "*", "*", "*"+ending)); len(files) > 0 {
				break
			}
		}
		time.Sleep(while)
		told <- time.Now()
	}()
	return told
}

// Every step of publishing is a moment at which a run may end: what was done of the
// steps is taken back or stays, and the next run gives the same.
func TestEveryStep(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(3, 30, 97*time.Minute), 0)
	once := t.TempDir()
	d := openDir(t, once, Options{})
	exportFile(t, d, path, 100)
	closeDir(t, d)
	d = openDir(t, once, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	want := everything(t, once)
	var files []string
	_ = filepath.WalkDir(once, func(path string, e fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ending) {
			rel, _ := filepath.Rel(once, path)
			files = append(files, rel)
		}
		return nil
	})
	// Whatever file of those that come before the entries of a part is there alone,
	// the part counts as not there.
	for _, lost := range files {
		if !strings.HasPrefix(lost, Entries) && !strings.HasPrefix(lost, Resources) {
			continue
		}
		if _, s, _, _ := parsePart(filepath.Base(lost)); strings.HasPrefix(lost, Entries) && s.first == 1 {
			continue // what follows it is there only if it is
		}
		root := t.TempDir()
		if err := os.CopyFS(root, os.DirFS(once)); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, s, _, is := parsePart(filepath.Base(f))
			_, l, _, _ := parsePart(filepath.Base(lost))
			if f == lost || is && strings.HasPrefix(lost, Entries) && strings.HasPrefix(f, Entries) && strings.Contains(lost, b) && s.first > l.first {
				if err := os.Remove(filepath.Join(root, f)); err != nil {
					t.Fatal(err)
				}
			}
			if strings.HasPrefix(lost, Resources) && strings.HasPrefix(f, Entries) {
				_ = os.Remove(filepath.Join(root, f)) // contents come before all entries that need them
			}
		}
		d := openDir(t, root, Options{})
		exportFile(t, d, path, 0)
		closeDir(t, d)
		same(t, "without "+lost, everything(t, root), want)
	}
}

// Only one at a time writes a directory, and only one that is its own.
func TestOthers(t *testing.T) {
	root := t.TempDir()
	d := openDir(t, root, Options{})
	if _, err := Open(root, Options{}); err == nil || !strings.Contains(err.Error(), "another export") {
		t.Errorf("two at once: %v", err)
	}
	closeDir(t, d)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, Options{}); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("a directory of somebody else: %v", err)
	}
	if left, _ := os.ReadDir(other); len(left) != 1 {
		t.Errorf("%d files", len(left))
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(1, 3, time.Minute), 0)
	d = openDir(t, root, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	files, _ := filepath.Glob(filepath.Join(root, Entries, "*", "*", "*"))
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(text), keySchema+"\x18\x011", keySchema+"\x18\x012", 1)
	if newer == string(text) {
		t.Fatal("the version of the schema was not found")
	}
	if err := os.WriteFile(files[0], []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, Options{}); err == nil || !strings.Contains(err.Error(), `version "2"`) {
		t.Errorf("a newer schema: %v", err)
	}
}
