package serve

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// Who has read part of what was there reads on to what was written since, though
// the call that gave that part knew nothing of it. A context that ended when Next
// had returned is of no concern to the next one. Both are what a screen does that
// looks at single entries.
func TestReadOnLater(t *testing.T) {
	for name, o := range map[string]recorder.Options{
		"file": {}, "segments": {MaxSize: 20 << 10}, "memory": {Memory: 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			log, f := newLog(t, o, o.Memory > 0), newTraffic()
			_, c := served(t, log, "unix", quick())
			write(t, log, f, 10)
			r := c.Open(0, 0)
			defer r.Close()
			read := 0
			for round := range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := r.Next(ctx)
				cancel()
				if err != nil {
					t.Fatalf("after %d entries: %v", read, err)
				}
				read++
				write(t, log, f, 1+round%3) // nobody has asked for these
			}
			want, _ := own(t, log)
			for ; ; read++ {
				e, err := r.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("after %d entries: %v", read, err)
				}
				if read < len(want) && e.Seq != want[read].Seq {
					t.Fatalf("entry %d came in the place of %d", e.Seq, want[read].Seq)
				}
			}
			if read != len(want) {
				t.Errorf("%d entries of %d", read, len(want))
			}
		})
	}
}

// Who follows from one Next to the next has the end of the recording, and asks
// nobody who is gone whether there is more.
func TestFollowToTheEnd(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	server, c := served(t, log, "unix", quick())
	write(t, log, f, 10)
	r := c.Open(0, 0)
	defer r.Close()
	r.Follow(true)
	read := 0
	for ; read < 5; read++ { // each is a pass of its own
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write(t, log, f, 10)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close(time.Hour) // waits until it has told the end
	for _, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatalf("after %d entries: %v", read, err)
		}
		read++
	}
	if !r.Facts().Complete || read < 20 {
		t.Errorf("%d entries, complete: %v", read, r.Facts().Complete)
	}
}
