package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/session"
)

// Of the same bytes the same is recorded, whether they come in TLS or not and
// however they are cut.
func TestTheSameIsRecordedInTLS(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join(captures, "*"))
	if err != nil || len(found) < 5 {
		t.Fatalf("captures: %v %v", found, err)
	}
	for _, dir := range found {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			want := playCapture(t, legs{}, dir)
			for _, l := range secureLegs() {
				got := playCapture(t, l, dir)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v (-plaintext +TLS):\n%s", l, diff)
				}
			}
		})
	}
}

// Megabytes that are no HTTP at all, in both directions at the same time.
func TestAnyBytesInTLS(t *testing.T) {
	t.Parallel()
	for _, l := range secureLegs() {
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			s := newSecured(t)
			client, server := s.ends(t, l)
			d := newDuet(t, s.args(t, l), client, server)
			noise := rand.NewChaCha8([32]byte{1})
			d.say(t, false, []byte("no preface, and longer than one")) // the proxy has to look
			over := make(chan error, 2)
			for _, byServer := range []bool{false, true} {
				data := make([]byte, 5<<20)
				_, _ = noise.Read(data)
				seed := d.random.Uint64()
				go func() { over <- d.cut(byServer, data, seed) }()
			}
			for range 2 {
				if err := <-over; err != nil {
					t.Fatal(err)
				}
			}
			d.finish(t)
			if notes := d.notes(t); !slices.Contains(notes, session.NoteBlind) {
				t.Errorf("notes in the recording: %q", notes)
			}
		})
	}
}

// playCapture plays the bytes of a capture through a proxy, each read of it
// when the one before has arrived, and returns what is recorded of it but times
// and addresses.
func playCapture(t *testing.T, l legs, dir string) []session.Entry {
	t.Helper()
	rest := map[string][]byte{"client": contents(t, filepath.Join(dir, "client.bin")), "server": contents(t, filepath.Join(dir, "server.bin"))}
	var order []read
	if err := json.Unmarshal(contents(t, filepath.Join(dir, "order.json")), &order); err != nil {
		t.Fatal(err)
	}
	// A server that speaks first is not called before the client has spoken,
	// where the proxy has to look at what it says.
	first := slices.IndexFunc(order, func(r read) bool { return r.Side == "client" })
	order = slices.Concat(order[first:first+1], order[:first], order[first+1:])

	s := newSecured(t)
	client, server := s.ends(t, l, "h2")
	d := newDuet(t, s.args(t, l), client, server)
	for _, r := range order {
		d.say(t, r.Side == "server", rest[r.Side][:r.N])
		rest[r.Side] = rest[r.Side][r.N:]
	}
	d.finish(t)
	d.connectedTo(t, orNobody(l.client, envoyIdentity), orNobody(l.server, controlIdentity))

	out := slices.DeleteFunc(d.entries(t), func(e session.Entry) bool { return e.Kind == session.KindTime })
	for i := range out {
		e := &out[i]
		e.Seq, e.Time, e.Start, e.Peer = 0, time.Time{}, time.Time{}, nil
		if e.Message != nil {
			m := *e.Message
			m.Data = session.Chunks{m.Data.Bytes()}
			e.Message = &m
		}
	}
	return out
}
