package recorder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

func TestFollowWhileItGrows(t *testing.T) {
	l := create(t, Options{})
	const readers, entries = 4, 3000
	var wg sync.WaitGroup
	got := make([][]session.Entry, readers)
	for i := range readers {
		r := open(t, l.Path())
		r.Follow(true)
		wg.Go(func() {
			var err error
			if got[i], err = drain(r); err != nil || !r.Facts().Complete {
				t.Errorf("reader %d: %v, %+v", i, err, r.Facts())
			}
		})
	}
	for i := range entries {
		l.Append(message(1, strings.Repeat(strconv.Itoa(i), 100)))
		if i%500 == 0 {
			until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
		}
	}
	closeLog(t, l)
	wg.Wait()
	want, _ := readAll(t, l.Path())
	if n := len(without(session.KindTime, want)); n != entries {
		t.Errorf("%d entries in the file", n)
	}
	for i := range got {
		if !reflect.DeepEqual(want, got[i]) {
			t.Errorf("reader %d read %d entries, not the %d that are in the file", i, len(got[i]), len(want))
		}
	}
}

func TestWithoutFollowItEndsAndGoesOn(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	r := open(t, l.Path())
	for i := range 3 {
		if all, err := drain(r); err != nil || len(all) != min(i, 1) {
			t.Errorf("round %d: %d entries, %v", i, len(all), err)
		}
		l.Append(message(1, "x"))
		until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	l := create(t, Options{})
	r := open(t, l.Path())
	r.Follow(true)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	l.Append(message(1, "x"))
	if e, err := r.Next(context.Background()); err != nil || e.Seq != 1 {
		t.Errorf("then %v, %v", e, err)
	}
}

func TestReadAfterClose(t *testing.T) {
	l := create(t, Options{})
	r := open(t, l.Path())
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(context.Background()); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// victim is what the child process of TestKilledWriter is: it writes, and
// says on stdout the number of each entry and when it appended it.
func victim(path string) {
	l, err := Create(path, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	for {
		for range 50 {
			seq := l.Append(message(1, strings.Repeat("payload ", 200)))
			fmt.Fprintf(out, "%d %d\n", seq, time.Now().UnixNano())
		}
		_ = out.Flush()
		time.Sleep(2 * time.Millisecond)
	}
}

// What was appended 200 ms before a process is killed is in the file, and a
// reader that follows it notices.
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.xdsp")
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "RECORDER_TEST_VICTIM="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var (
		lines  = bufio.NewScanner(out)
		killed time.Time
		safe   session.Seq
		said   []int64
		r      *Reader
		follow sync.WaitGroup
		live   int
	)
	for lines.Scan() {
		var seq, at int64
		if _, err := fmt.Sscan(lines.Text(), &seq, &at); err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		said = append(said, at)
		if r == nil {
			r = open(t, path)
			r.Follow(true)
			follow.Go(func() {
				all, err := drain(r)
				if err != nil {
					t.Error(err)
				}
				live = len(all)
			})
		}
		if len(said) == 10000 {
			killed = time.Now()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	follow.Wait()
	// Where the machine let the child wait, its writer had to wait as well.
	due := killed.Add(-200 * time.Millisecond).UnixNano()
	var stalled int64
	for i := 1; i < len(said); i++ {
		stalled = max(stalled, said[i]-said[i-1])
	}
	for i, at := range said {
		if at < due-stalled {
			safe = session.Seq(i + 1)
		}
	}
	all, facts := readAll(t, path)
	explained(t, all)
	if facts.Complete || facts.Damaged || facts.LastSeq < safe || safe == 0 {
		t.Errorf("%d of %d entries must be there; %+v", safe, len(said), facts)
	}
	if live != len(all) {
		t.Errorf("the follower read %d entries of %d", live, len(all))
	}
}
