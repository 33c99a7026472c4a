package replaytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

const told = `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
`

// later has a response that comes so much later than the others.
func later(after string) string {
	return told + "t=" + after + " S< type=CDS V=2 N=b res=[c2]\nC> type=CDS V=2 N=b R=[]\n"
}

func play(t *testing.T, server, client string, o replay.Options) string {
	t.Helper()
	byServer, byClient := Facing(t, PlanOfScript(t, server), PlanOfScript(t, client), o)
	return fmt.Sprintf("server %d of %d, %d differences; client %d of %d, %d differences", byServer.Matched, byServer.Expected, len(byServer.Differences),
		byClient.Matched, byClient.Expected, len(byClient.Differences))
}

// Who plays what the other has finds no difference, who plays something else does, and
// nobody is waited for longer than five seconds, unless it is said.
func TestFacing(t *testing.T) {
	recorded, err := replay.ParsePace("recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, server, client, want string }{
		{"the same", told, told, "server 2 of 2, 0 differences; client 1 of 1, 0 differences"},
		{"another content", told, strings.ReplaceAll(told, "c1", "c2"), "server 2 of 2, 0 differences; client 0 of 1, 2 differences"},
		{"soon", later("+4s"), later("+4s"), "server 3 of 3, 0 differences; client 2 of 2, 0 differences"},
		{"late", later("+6s"), later("+6s"), "server 2 of 3, 1 differences; client 1 of 2, 2 differences"},
	} {
		if got := play(t, c.server, c.client, replay.Options{Pace: recorded}); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	byServer, byClient := Against(t, Sessions+"/demo.xdsp", replay.Options{})
	if byServer.Differs() || byClient.Differs() || byServer.Streams == 0 || byClient.Streams == 0 {
		t.Errorf("%+v\n%+v", byServer, byClient)
	}
}

// What cannot be played fails the test.
func TestPlans(t *testing.T) {
	whole, err := os.ReadFile(Sessions + "/demo.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.xdsp")
	if err := os.WriteFile(damaged, whole[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, helper := range map[string]func(testing.TB){
		"no script":                   func(t testing.TB) { PlanOfScript(t, "what is this\n") },
		"no file":                     func(t testing.TB) { PlanOf(t, damaged+"s") },
		"a file of nothing":           func(t testing.TB) { PlanOf(t, damaged) },
		"an unknown fault":            func(t testing.TB) { Faults(t, true, told, "nobody#1") },
		"a fault of clients":          func(t testing.TB) { Faults(t, true, told, "reconnect-storm#1") },
		"faults of no script":         func(t testing.TB) { Faults(t, true, "what is this\n") },
		"a second fault, not a first": func(t testing.TB) { Faults(t, true, told, "drop#1", "nobody#1") },
	} {
		if got := verdict.Of(t, helper); !strings.HasPrefix(got, "fatal: ") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if set := Faults(t, true, told, "drop#1"); len(set.All) != 1 {
		t.Errorf("%+v", set)
	}
}

// pairs are some that are kept, and as few as a directory may have.
var pairs = []string{"again", "client-nack-2", "opens-anyway", "only", "polls-other", "polls-slow-timed", "server-drop", "silent", "twice", "two-of-one"}

// copied is a directory that has them.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range pairs {
		for _, end := range []string{".txt", ".golden"} {
			b, err := os.ReadFile(filepath.Join("../client/testdata/pairs", name+end))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+end), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// dirOfPairs names a directory for a run of TestPairs by another test.
const dirOfPairs = "REPLAYTEST_PAIRS"

func TestPairs(t *testing.T) {
	dir := os.Getenv(dirOfPairs)
	if dir == "" {
		dir = copied(t)
	}
	Pairs(t, dir)
}

// Pairs that do not go as they are kept fail, and so do those that do not say how they go.
func TestPairsThatFail(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(dir string) error
		want string
	}{
		{"as they are", func(string) error { return nil }, ""},
		{"one less", func(dir string) error { return os.Remove(filepath.Join(dir, "silent.txt")) }, "again.txt"},
		{"another transcript", func(dir string) error {
			return edit(filepath.Join(dir, "silent.golden"), "8 of 8 as recorded", "8 of 9 as recorded")
		}, "silent.golden differs in line"},
		{"another script", func(dir string) error {
			return edit(filepath.Join(dir, "silent.txt"), "V=2", "V=3")
		}, "silent.golden differs in line"},
		{"no idle", func(dir string) error {
			return edit(filepath.Join(dir, "only.txt"), "== only=n2", "== only=n2\n== idle=x")
		}, "invalid duration"},
		{"no pace", func(dir string) error {
			return edit(filepath.Join(dir, "only.txt"), "== only=n2", "== only=n2\n== pace=x")
		}, "neither cause"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copied(t)
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestPairs$")
			cmd.Env = append(os.Environ(), dirOfPairs+"="+dir)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "panic") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func edit(file, from, to string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), from) {
		return fmt.Errorf("%s does not have %q", file, from)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o600)
}

// Of what is said at one time, the client's comes first, and what was said at another
// stays apart.
func TestBySide(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"S< a\nC> b\nS< c\nC> d\n", "C> b\nC> d\nS< a\nS< c\n"},
		{"d< a\nt=+1s D> b\nd< c\nD> d\n", "d< a\nt=+1s D> b\nD> d\nd< c\n"},
		{"S< a\nt=+1s S< b\nC> c\n", "S< a\nt=+1s C> c\nS< b\n"},
		{"-- stream\nS< a\nC> b\n-- end\nC> c\n", "-- stream\nC> b\nS< a\n-- end\nC> c\n"},
	} {
		if got := bySide(c.text); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A request that was broken off and made once more is told once; one that was made twice
// and answered, and a stream that another goes on like, are told twice.
func TestOnce(t *testing.T) {
	const ask, answer = "P> path=/v3/discovery:clusters type=CDS V= N= R=[] node=n1\n", "p< 200 type=CDS V=1 N= res=[c1]\n"
	for _, c := range []struct {
		streams []string
		want    string // the first letters of the lines
	}{
		{[]string{ask + answer}, "-Pp"},
		{[]string{ask, ask + answer}, "-Pp"},
		{[]string{ask + answer, ask}, "-Pp"},
		{[]string{ask, ask}, "-P-P"},
		{[]string{ask + answer, ask + answer}, "-Pp-Pp"},
		{[]string{ask, ask + answer, ask + answer}, "-Pp-Pp"},
		{[]string{told, told + "S< type=CDS V=2 N=b res=[c2]\n"}, "-CCS-CCSS"},
		{[]string{told, ask, ask + answer}, "-CCS-Pp"},
	} {
		h := &heard{streams: map[session.StreamID][]session.Entry{}}
		for i, text := range c.streams {
			s, err := script.Parse("test", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for e := range s.Entries() {
				if e.Stream != 0 {
					h.streams[session.StreamID(i)] = append(h.streams[session.StreamID(i)], e)
				}
			}
		}
		got := ""
		for l := range strings.Lines(h.text(t)) {
			got += strings.TrimSuffix(l[:1], "\n")
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s\n%s", c.streams, got, c.want, h.text(t))
		}
	}
}

// Entries are numbered as they come, and what they hold is kept, whatever becomes of the
// buffer that it lay in.
func TestAppend(t *testing.T) {
	h := &heard{streams: map[session.StreamID][]session.Entry{}}
	data := []byte("kept")
	for want := session.Seq(1); want < 4; want++ {
		e := session.Entry{Stream: 7, Message: &session.Message{Data: session.Chunks{data}}}
		if got := h.Append(e); got != want {
			t.Errorf("number %d, want %d", got, want)
		}
	}
	h.Append(session.Entry{Kind: session.KindConnect}) // which is of no stream
	clear(data)
	for i, e := range h.streams[7] {
		if e.Seq != session.Seq(i+1) || string(e.Message.Data.Bytes()) != "kept" {
			t.Errorf("%d: %+v", i, e)
		}
	}
	if len(h.streams) != 1 || len(h.streams[7]) != 3 {
		t.Errorf("%v", h.streams)
	}
}

// What comes within some milliseconds comes at one time.
func TestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which a sleep takes no time
		begun := time.Now()
		for _, c := range []struct{ sleep, want time.Duration }{{4, 0}, {2, 10}, {8, 10}, {2, 20}} {
			time.Sleep(c.sleep * time.Millisecond)
			if got := now().Sub(begun); got != c.want*time.Millisecond {
				t.Errorf("%v after the beginning is %v", time.Since(begun), got)
			}
		}
	})
}
