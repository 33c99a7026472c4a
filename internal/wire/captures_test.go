package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// capture is one real connection: what each side sent, in what order it was
// read, and what the control plane says it received and sent.
type capture struct {
	name  string
	bytes map[session.Side][]byte
	order []struct {
		Side string
		N    int
	}
	account struct {
		Streams []struct {
			Stream   session.StreamID
			Method   string
			Headers  map[string][]string
			Messages []accountMessage
			Status   struct {
				Code    int32
				Message string
			}
		}
	}
}

type accountMessage struct {
	Side   string
	Len    int64
	SHA256 string
}

func loadCaptures(t testing.TB) []*capture {
	t.Helper()
	dirs, err := filepath.Glob("testdata/captures/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	var out []*capture
	for _, dir := range dirs {
		read := func(name string) []byte {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		c := &capture{name: filepath.Base(dir), bytes: map[session.Side][]byte{
			session.Client: read("client.bin"), session.Server: read("server.bin"),
		}}
		if err := json.Unmarshal(read("order.json"), &c.order); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(read("account.json"), &c.account); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// play feeds the capture in its own order, each read cut into pieces.
func (c *capture) play(t *testing.T, piece func() int) []session.Entry {
	t.Helper()
	r := newRig(t, 1<<20)
	at := map[session.Side]int{}
	for i, o := range c.order {
		side := session.Client
		if o.Side == "server" {
			side = session.Server
		}
		for rest := c.bytes[side][at[side] : at[side]+o.N]; len(rest) > 0; {
			n := min(piece(), len(rest))
			r.tap.Feed(side, time.Unix(int64(i), 0), rest[:n])
			rest = rest[n:]
		}
		at[side] += o.N
	}
	for side, b := range c.bytes {
		if at[side] != len(b) {
			t.Fatalf("the order has %d of %d bytes of the %s", at[side], len(b), side)
		}
	}
	return r.log.entries
}

// Over captures of real clients the entries equal the control plane's account.
func TestCaptures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range loadCaptures(t) {
		t.Run(c.name, func(t *testing.T) {
			for name, piece := range map[string]func() int{
				"as read":      func() int { return 1 << 20 },
				"byte by byte": func() int { return 1 },
				"at random":    func() int { return 1 + rng.IntN(300) },
			} {
				c.compare(t, name, c.play(t, piece))
			}
		})
	}
}

func (c *capture) compare(t *testing.T, how string, entries []session.Entry) {
	t.Helper()
	for _, want := range c.account.Streams {
		var got []accountMessage
		var open, trailer bool
		for _, e := range entries {
			switch {
			case e.Kind == session.KindNote:
				t.Fatalf("%s: the tap gave up: %+v", how, e.Note)
			case e.Stream != want.Stream:
			case e.Kind == session.KindOpen:
				open = true
				if e.Method != want.Method {
					t.Errorf("%s: method is %q, not %q", how, e.Method, want.Method)
				}
				for name, values := range want.Headers {
					var have []string
					for _, f := range e.Headers {
						if f.Name == name {
							have = append(have, f.Value)
						}
					}
					if !slices.Equal(have, values) {
						t.Errorf("%s: %s is %q, not %q", how, name, have, values)
					}
				}
			case e.Kind == session.KindMessage:
				data := e.Message.Data.Bytes()
				sum := sha256.Sum256(data)
				got = append(got, accountMessage{e.Side.String(), e.Message.WireSize, hex.EncodeToString(sum[:])})
			case e.Kind == session.KindTrailer:
				trailer = true
				if e.Status.Code != want.Status.Code || e.Status.Message != want.Status.Message {
					t.Errorf("%s: status is %+v, not %+v", how, e.Status, want.Status)
				}
			}
		}
		if !open || !trailer {
			t.Errorf("%s: stream %d has an open entry: %v, a trailer: %v", how, want.Stream, open, trailer)
		}
		// The control plane counts a message when it handles it, the tap when it
		// passes: only the order of each side is the same.
		for _, side := range []string{"client", "server"} {
			if g, w := ofSide(got, side), ofSide(want.Messages, side); !slices.Equal(g, w) {
				t.Errorf("%s: the %s's messages are\n%v\nnot\n%v", how, side, g, w)
			}
		}
	}
}

func ofSide(all []accountMessage, side string) []accountMessage {
	return slices.DeleteFunc(slices.Clone(all), func(m accountMessage) bool { return m.Side != side })
}
