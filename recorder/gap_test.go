package recorder

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// explained checks that every hole in the numbers is told of by a Gap entry,
// and returns those entries.
func explained(t *testing.T, all []session.Entry) []session.Entry {
	t.Helper()
	var gaps []session.Entry
	seen := make(map[session.Seq]bool)
	var last session.Seq
	for _, e := range all {
		if e.Seq <= last {
			t.Errorf("entry %d after entry %d", e.Seq, last)
		}
		last = e.Seq
		seen[e.Seq] = true
		if e.Kind == session.KindGap {
			gaps = append(gaps, e)
			if e.Gap.Entries != uint64(e.Gap.Last-e.Gap.First)+1 {
				t.Errorf("gap %+v has holes", e.Gap)
			}
			for s := e.Gap.First; s <= e.Gap.Last; s++ {
				if seen[s] {
					t.Errorf("entry %d is there, but in the gap %+v", s, e.Gap)
				}
				seen[s] = true
			}
		}
	}
	for s := session.Seq(1); s <= last; s++ {
		if !seen[s] {
			t.Errorf("entry %d is nowhere", s)
		}
	}
	return gaps
}

func startOn(t *testing.T, f *flaky, o Options) *Log {
	t.Helper()
	l, err := start(f.Name(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// until waits for what the writer brings about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// settle has the writer write what waits, and returns when it is done with it:
// with the segment that may have begun then, too, which Stats does not tell. Each
// wake but the last is taken when the writer has come to rest after the one
// before, because there is room for one only.
func settle(l *Log) {
	for range 3 {
		l.wake <- struct{}{}
	}
}

func TestFullQueueDropsAndSaysSo(t *testing.T) {
	f := newFlaky(t)
	const limit = 64 << 10
	l := startOn(t, f, Options{QueueBytes: limit, NoTicks: true})
	f.gate.Lock()
	for i := range 200 {
		l.Append(message(session.StreamID(i%3+1), strings.Repeat("x", 1000)))
	}
	s := l.Stats()
	if s.Lost == 0 || s.Queued > limit {
		t.Errorf("while blocked: %+v", s)
	}
	f.gate.Unlock()
	until(t, "the gap is written", func() bool { return l.Stats().Gaps == 1 })
	seq := l.Append(message(9, "after"))
	closeLog(t, l)

	all, facts := readAll(t, f.Name())
	gaps := explained(t, all)
	if len(gaps) != 1 || facts.Lost != s.Lost || facts.Gaps != 1 || l.Stats().Lost != s.Lost {
		t.Fatalf("%d gaps, facts %+v, stats %+v", len(gaps), facts, l.Stats())
	}
	g := gaps[0].Gap
	slices.Sort(g.Streams)
	if g.Bytes != int64(s.Lost)*1000 || !slices.Equal(g.Streams, []session.StreamID{1, 2, 3}) {
		t.Errorf("gap %+v", g)
	}
	if last := all[len(all)-1]; last.Seq != seq || last.Message == nil {
		t.Errorf("the entry after the gap is %+v", last)
	}
}

// That streams and connections ended is known although their ends found no room.
func TestEndsFindNoRoom(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{QueueBytes: 64 << 10, NoTicks: true})
	f.gate.Lock()
	for i := 0; l.Stats().Lost == 0; i++ {
		l.Append(message(session.StreamID(i%3+1), strings.Repeat("x", 1000)))
	}
	for range 40 { // what is small finds room a little longer
		l.Append(message(1, "x"))
	}
	end := func(kind session.Kind, stream session.StreamID) {
		l.Append(session.Entry{Conn: 1, Stream: stream, Kind: kind, Side: session.Client})
	}
	end(session.KindCancel, 2)
	end(session.KindTrailer, 1)
	end(session.KindDisconnect, 0)
	f.gate.Unlock()
	until(t, "the gap is written", func() bool { return l.Stats().Gaps == 1 })
	closeLog(t, l)

	all, _ := readAll(t, f.Name())
	if gaps := explained(t, all); len(gaps) != 1 {
		t.Fatalf("%d gaps", len(gaps))
	}
	at := slices.IndexFunc(all, func(e session.Entry) bool { return e.Kind == session.KindGap })
	behind := all[at+1:]
	if len(behind) != 3 || behind[0].Stream != 2 || behind[0].Kind != session.KindCancel || behind[1].Stream != 1 ||
		behind[2].Conn != 1 || behind[2].Kind != session.KindDisconnect || behind[0].Time.Before(all[at].Time) {
		t.Errorf("behind the gap come %+v", behind)
	}
}

// The Gap entry comes before the entry that there was room for again.
func TestGapBeforeTheNext(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{QueueBytes: 12 << 10, NoTicks: true})
	f.gate.Lock()
	l.Append(message(1, strings.Repeat("x", 3000)))
	l.Append(message(1, strings.Repeat("x", 3000)))
	l.Append(message(1, strings.Repeat("x", 3000))) // no room
	l.Append(message(1, "small"))                   // room
	l.Append(message(1, strings.Repeat("x", 3000))) // no room
	f.gate.Unlock()
	closeLog(t, l)
	all, _ := readAll(t, f.Name())
	explained(t, all)
	var kinds []string
	for _, e := range all {
		kinds = append(kinds, e.Kind.String())
	}
	if want := []string{"message", "message", "gap", "message", "gap"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v", kinds)
	}
}

func TestOneOversizedMessagePasses(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{QueueBytes: 1 << 20, NoTicks: true})
	f.gate.Lock()
	big := strings.Repeat("x", 3<<20)
	l.Append(message(1, "before"))
	l.Append(message(1, big))
	l.Append(message(1, "between"))
	l.Append(message(1, big)) // one at a time
	f.gate.Unlock()
	until(t, "the queue is empty", func() bool { return l.Stats().Queued == 0 })
	l.Append(message(1, big))
	closeLog(t, l)
	all, facts := readAll(t, f.Name())
	explained(t, all)
	if facts.Messages != 4 || facts.Lost != 1 {
		t.Errorf("facts %+v", facts)
	}
}

func TestFullDisk(t *testing.T) {
	for name, truncate := range map[string]error{"cut off at once": nil, "cut off later": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			f := newFlaky(t)
			var told []error
			l := startOn(t, f, Options{NoTicks: true, OnError: func(err error) { told = append(told, err) }})
			write := func(n int) {
				for range n {
					l.Append(message(2, "payload"))
				}
				until(t, "the queue is empty", func() bool { return l.Stats().Queued == 0 })
			}
			write(3)
			good := f.size(t)
			f.set(good+20, truncate)
			for range 3 {
				write(2)
			}
			if s := l.Stats(); !s.Failing || s.Lost != 6 || s.Bytes != good {
				t.Errorf("while full: %+v", s)
			}
			if truncate == nil && f.size(t) != good {
				t.Errorf("%d bytes were left behind", f.size(t)-good)
			}
			if all, facts := readAll(t, f.Name()); len(all) != 3 || facts.Complete {
				t.Errorf("while full: %d entries, %+v", len(all), facts)
			}
			f.set(plenty, nil)
			write(4)
			closeLog(t, l)
			all, facts := readAll(t, f.Name())
			gaps := explained(t, all)
			if len(gaps) != 1 || facts.Lost != 6 || facts.Messages != 7 || !facts.Complete {
				t.Errorf("%d gaps, %+v", len(gaps), facts)
			}
			if len(told) != 2 || !errors.Is(told[0], syscall.ENOSPC) || told[1] != nil {
				t.Errorf("told %v", told)
			}
		})
	}
}

func TestDiskFullToTheEnd(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{})
	l.Append(message(1, "there"))
	until(t, "it is written", func() bool { return l.Stats().Entries == 1 })
	f.set(0, nil)
	l.Append(message(1, "lost"))
	if err := l.Close(); err == nil {
		t.Error("Close says that all is well")
	}
	if all, facts := readAll(t, f.Name()); len(all) != 1 || facts.Complete {
		t.Errorf("%d entries, %+v", len(all), facts)
	}
}

func TestTimeEntries(t *testing.T) {
	f := newFlaky(t)
	synctest.Test(t, func(t *testing.T) {
		l, err := start(f.Name(), f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nothing was written: nothing to say
		begin := time.Now()
		l.Append(message(1, "a"))
		time.Sleep(24 * time.Hour)
		l.Append(message(1, "b"))
		time.Sleep(1500 * time.Millisecond)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		all, _ := readAll(t, f.Name())
		if all[0].Message == nil || !all[0].Time.Equal(begin) {
			t.Errorf("the first is %+v", all[0])
		}
		second := slices.IndexFunc(all[1:], func(e session.Entry) bool { return e.Message != nil }) + 1
		if n := second - 1; n < 20 || n > 80 {
			t.Errorf("%d time entries in a day of silence", n)
		}
		for i := 1; i < len(all); i++ {
			idle, pause := all[i-1].Time.Sub(begin), all[i].Time.Sub(all[i-1].Time)
			if all[i].Kind == session.KindTime && i < second &&
				(pause < time.Second || pause > max(idle/4, time.Second)+flushAfter) {
				t.Errorf("after %v of silence it took %v", idle, pause)
			}
		}
		tail := all[second+1:]
		if len(tail) != 2 || tail[1].Kind != session.KindTime || tail[1].Time.Sub(all[second].Time) != 1500*time.Millisecond {
			t.Errorf("after the second: %+v", tail)
		}
	})
}

func TestTimesNeverDecrease(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	at := time.Unix(5000, 0).UTC()
	for _, d := range []time.Duration{0, -time.Hour, time.Second, 0} {
		e := message(1, "x")
		e.Time = at.Add(d)
		l.Append(e)
	}
	closeLog(t, l)
	all, facts := readAll(t, l.Path())
	for i, d := range []time.Duration{0, 0, time.Second, time.Second} {
		if !all[i].Time.Equal(at.Add(d)) {
			t.Errorf("entry %d is of %v", i, all[i].Time)
		}
	}
	if !facts.First.Equal(at) || !facts.Last.Equal(at.Add(time.Second)) {
		t.Errorf("facts %+v", facts)
	}
}
