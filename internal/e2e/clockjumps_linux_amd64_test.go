package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// The clock of the machine is set forward and back by up to ten hours, again
// and again, while clients are told something. No time in the recording goes
// back, no client is accused, and when the clock is left far behind, the
// recording still tells that time passes.
func TestClockJumps(t *testing.T) {
	pushes := 150
	if *soakLong {
		pushes = 5000
	} else {
		t.Parallel()
	}
	w := &soakWorld{t: t, server: newSoakServer(t, 20)}
	w.proxy = startProxyWith(t, w.server.serve(t), setup{args: []string{"--admin", "127.0.0.1:0", "--log-format", "json"}})
	w.admin = w.proxy.stderr.find(t, adminLine, w.proxy.exited)[1]
	clock := takeClock(t, w.proxy.cmd.Process.Pid)
	w.crowd(5)
	stop, jumps := make(chan struct{}), make(chan int)
	go func() {
		for n, r := 0, rand.New(rand.NewPCG(1, 2)); ; n++ {
			select {
			case <-stop:
				jumps <- n
				return
			case <-time.After(time.Duration(r.IntN(int(20 * time.Millisecond)))):
			}
			clock.set(t, time.Duration(r.IntN(20*3600)-10*3600)*time.Second)
		}
	}()
	for i := range pushes {
		w.push(i, 3)
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			if got := scrape(t, w.admin+path); got != want {
				t.Errorf("%s says %q", path, got)
			}
		}
	}
	close(stop)
	t.Logf("the clock was set %d times", <-jumps)
	clock.set(t, -20*time.Hour)
	w.push(0, 1)
	times := func() (n int) {
		for _, e := range w.proxy.entries(t) {
			switch e.Kind {
			case session.KindMessage:
				n = 0
			case session.KindTime:
				n++
			}
		}
		return n
	}
	eventually(t, "time passes", func() bool { return times() >= 2 })
	w.judge()

	var last time.Time
	back, notes := 0, 0
	for _, e := range w.proxy.entries(t) {
		if e.Time.Before(last) || e.Start.After(e.Time) {
			back++
		}
		last = e.Time
		if e.Kind == session.KindNote && e.Note.Code == session.NoteClock {
			notes++
		}
	}
	if back > 0 || notes == 0 {
		t.Errorf("%d times go back, %d notes tell of the clock", back, notes)
	}
	checkClean(t, w.proxy.file)
}
