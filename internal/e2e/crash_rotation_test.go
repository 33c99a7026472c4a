package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// A crash of a proxy that does hardly anything but begin new segments, at any
// time and in the middle of that, costs what any crash does: what had passed 200
// ms before is in what is left of the recording, or was deleted with a segment,
// which is counted.
func TestKilledWhileRotating(t *testing.T) {
	t.Parallel()
	upstream := servePushes(t)
	// Where the kill was to hit: the next segment is being made, or has just
	// taken the place of the one before, which has no end yet.
	var segments, making, replaced, unended, old, lost, deleted int
	for n := range *kills {
		s := setup{args: []string{"--max-size", "8KiB"}}
		if n%2 == 1 {
			s.args = append(s.args, "--keep", "3")
		}
		var await func(string)
		if n%4 < 2 {
			await = untilRotation
		}
		received, killed, file := killOnce(t, upstream, pushesBefore(n), s, await)
		left := stateOf(t, file)
		segments += left.segments
		making += left.making
		replaced += left.replaced
		unended += left.unended
		r := readSegments(t, file)
		if r.first > 1 {
			deleted++
		}
		if n%2 == 0 && r.first != 1 {
			t.Errorf("the recording begins with entry %d, and nothing was to be deleted", r.first)
		}
		for nonce, at := range received {
			stream, number := split(t, nonce)
			recent := killed.Sub(at) <= 200*time.Millisecond
			switch is := r.nonces[stream][number]; {
			case !recent:
				old++
				if !is && (n%2 == 0 || number > r.least[stream]) {
					t.Errorf("response %s passed %s before the kill and is not in the recording, which begins with %d on its stream",
						nonce, killed.Sub(at), r.least[stream])
				}
			case !is:
				lost++
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d kills, %d segments left: %d times the next segment was being made, %d times it had just been put in place, %d old segments had no end, %d times older ones were deleted",
		*kills, segments, making, replaced, unended, deleted)
	t.Logf("%d responses were more than 200 ms old; %d younger ones are not in the recordings", old, lost)
	if segments <= *kills || old == 0 {
		t.Error("there was no rotation, or no response was old enough to prove anything")
	}
}

// untilRotation waits until the next segment of a recording is being made.
func untilRotation(file string) {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		if _, err := os.Lstat(file + ".next"); err == nil {
			for range rand.IntN(1000) { // and some microseconds more
				_, _ = os.Lstat(file)
			}
			return
		}
	}
}

// leftover says how a crash left the files of a recording.
type leftover struct{ segments, making, replaced, unended int }

func stateOf(t *testing.T, file string) (s leftover) {
	t.Helper()
	older, err := filepath.Glob(strings.TrimSuffix(file, ".xdsp") + ".??????.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	s.segments = 1 + len(older)
	if _, err := os.Lstat(file + ".next"); err == nil {
		s.making = 1
	}
	newest, err := os.Stat(file)
	if err != nil {
		t.Fatalf("the recording has lost its name: %v", err)
	}
	for _, path := range older {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if os.SameFile(info, newest) {
			s.replaced++
			s.segments--
			continue
		}
		if facts, err := recorder.Inspect(path); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !facts.Complete {
			s.unended++
		}
	}
	return s
}

func split(t *testing.T, nonce string) (stream string, number int) {
	t.Helper()
	stream, text, _ := strings.Cut(nonce, "/")
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("nonce %q: %v", nonce, err)
	}
	return stream, number
}

// remains are the responses in what a crash left of a recording in segments.
type remains struct {
	first  session.Seq // that was not repeated
	nonces map[string]map[int]bool
	least  map[string]int // number on each stream, of what was not repeated
}

// readSegments reads what is left. Nothing may be missing in the middle of it.
func readSegments(t *testing.T, file string) remains {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := remains{nonces: map[string]map[int]bool{}, least: map[string]int{}}
	var last session.Seq
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatalf("after entry %d: %v", last, err)
		}
		switch {
		case e.Carried && out.first > 0:
			t.Errorf("entry %d is repeated after entry %d", e.Seq, last)
		case e.Carried:
		case out.first == 0:
			out.first = e.Seq
		case e.Seq != last+1:
			t.Errorf("entry %d follows entry %d", e.Seq, last)
		}
		last = e.Seq
		if e.Kind != session.KindMessage || e.Side != session.Server {
			continue
		}
		m := &discovery.DiscoveryResponse{}
		if err := proto.Unmarshal(e.Message.Data.Bytes(), m); err != nil {
			t.Fatalf("entry %d is not what was sent: %v", e.Seq, err)
		}
		stream, number := split(t, m.Nonce)
		if out.nonces[stream] == nil {
			out.nonces[stream] = map[int]bool{}
		}
		out.nonces[stream][number] = true
		if _, is := out.least[stream]; !is && !e.Carried {
			out.least[stream] = number
		}
	}
	f := r.Facts()
	if f.Complete || f.Damaged || f.Gaps != 0 || f.Lost != uint64(out.first-1) {
		t.Errorf("it begins with entry %d: %+v", out.first, f)
	}
	if all, err := recorder.Inspect(file); err != nil || all.LastSeq != last || all.Lost != f.Lost || all.Entries != f.Entries {
		t.Errorf("its headers say %+v, its entries %+v, %v", all, f, err)
	}
	return out
}
