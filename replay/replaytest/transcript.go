package replaytest

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Transcript plays the server of one recording to the clients of another, as Facing does, in a time of its own,
// and is all that they said to each other and of each other, with its time.
func Transcript(t *testing.T, sp, cp string, o replay.Options, so, co func(*replay.Options)) (out string) {
	synctest.Test(t, func(t *testing.T) {
		h := &heard{streams: map[session.StreamID][]session.Entry{}}
		begun := time.Now()
		o.Idle = cmp.Or(o.Idle, 5*time.Second)
		at := func(side string) func(string) {
			return func(s string) { h.say(fmt.Sprintf("%-8v %s: %s", time.Since(begun).Round(time.Millisecond), side, s)) }
		}
		forServer, forClient := o, o
		forClient.Idle -= 300 * time.Millisecond // else it is chance who ends first
		forServer.Say, forClient.Say = at("server"), at("client")
		so(&forServer)
		co(&forClient)
		byServer, byClient := face(t, PlanOfScript(t, sp), PlanOfScript(t, cp), forServer, forClient, h.listen)
		time.Sleep(time.Second) // for those that still read
		out = h.text(t) + report("server", byServer, begun) + report("client", byClient, begun)
	})
	return out
}

func report(side string, r *replay.Report, since time.Time) string {
	out := fmt.Sprintf("\n# the %s\n%d streams, %d sent, %d received, %d of %d as expected, %d more\n", side, r.Streams, r.Sent, r.Received, r.Matched, r.Expected, r.More)
	for _, d := range r.Differences {
		out += "differs: " + golden.Compact(d, since) + "\n"
	}
	for _, n := range r.Notes {
		out += "note: " + n + "\n"
	}
	if r.TurnedAway != "" {
		out += "turned away: " + r.TurnedAway + "\n"
	}
	for _, p := range r.Played {
		out += "played: " + golden.Compact(p, since) + "\n"
	}
	return out
}

// heard is what was said on connections, by stream.
type heard struct {
	mu      sync.Mutex
	last    session.StreamID
	seq     session.Seq
	said    []string
	streams map[session.StreamID][]session.Entry
}

func (h *heard) say(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, s)
}

func (h *heard) Append(e session.Entry) session.Seq {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	e.Seq = h.seq
	if e.Stream != 0 {
		if e.Message != nil {
			m := *e.Message
			m.Data = session.Chunks{slices.Clone(m.Data.Bytes())}
			e.Message = &m
		}
		h.streams[e.Stream] = append(h.streams[e.Stream], e)
	}
	return h.seq
}

func (h *heard) newStream() session.StreamID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	return h.last
}

// listen hears a connection. All have one number: what is told is told by stream.
func (h *heard) listen(c net.Conn) net.Conn {
	return &tapped{Conn: c, tap: wire.NewTap(wire.Config{Conn: 1, Sink: h, Memory: wire.NewMemory(1 << 20), NewStream: h.newStream})}
}

// text is what was said, stream by stream: which of two comes first, that are opened at one time, says nothing.
func (h *heard) text(t *testing.T) string {
	var all []string
	numbers := regexp.MustCompile(`(?m)^(@\d+ |t=\S+ )*-- (cut|client-end|client-half-close|server-end code=(0|14)\b).*\n|@\d+ |^# Began.*\n| \d+ ua=.*$`)
	for _, entries := range h.streams {
		var b bytes.Buffer
		if _, err := script.Write(&b, slices.Values(entries)); err != nil {
			t.Error(err)
		}
		all = append(all, bySide(numbers.ReplaceAllString(b.String(), "")))
	}
	slices.Sort(all)
	// net/http asks once more when it finds closed the connection that it took. How many requests the server heard is in
	// its report.
	for i := len(all) - 2; i >= 0; i-- {
		if strings.HasPrefix(all[i], "-- stream rest") && len(all[i+1]) > len(all[i]) && strings.HasPrefix(all[i+1], all[i]) {
			all = slices.Delete(all, i, i+1)
		}
	}
	slices.Sort(h.said)
	return strings.Join(all, "") + strings.Join(h.said, "\n") + "\n"
}

// bySide has what the client says at one time before what the server says then: which of two messages that cross comes
// first is chance.
func bySide(text string) string {
	var out, when, client, server string
	flush := func() {
		out += when + client + server
		when, client, server = "", "", ""
	}
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "t=") || strings.HasPrefix(l, "--") {
			flush()
		}
		if t, rest, _ := strings.Cut(l, " "); strings.HasPrefix(t, "t=") {
			when, l = t+" ", rest
		}
		if strings.HasPrefix(l, "S<") || strings.HasPrefix(l, "d<") {
			server += l
		} else {
			client += l
		}
	}
	flush()
	return out
}

// tapped is a client's end of a connection that is listened to. It never sleeps: whoever reads or closes may hold a lock.
type tapped struct {
	net.Conn
	tap *wire.Tap
}

func now() time.Time { return time.Now().Round(10 * time.Millisecond) }

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.Feed(session.Server, now(), p[:n])
	return n, err
}

func (c *tapped) Write(p []byte) (int, error) {
	c.tap.Feed(session.Client, now(), p)
	return c.Conn.Write(p)
}

// Pairs holds the transcripts of pairs of recordings against what is kept of them in a directory. A pair is what the
// server, what the client, or what both of them have, after a line that begins with "==" and says so; one that begins
// with "== idle=", "== pace=", "== only=" (a client) or "== server-wrong=" (faults) says how to play.
func Pairs(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts, how := map[string]string{}, map[string]string{}
			side := ""
			for l := range strings.Lines(string(text)) {
				what, is := strings.CutPrefix(strings.TrimSpace(l), "== ")
				switch key, value, set := strings.Cut(what, "="); {
				case is && set:
					how[key] = value
				case is:
					side = what
				case side == "both":
					texts["server"] += l
					texts["client"] += l
				default:
					texts[side] += l
				}
			}
			var o replay.Options
			if how["idle"] != "" {
				if o.Idle, err = time.ParseDuration(how["idle"]); err != nil {
					t.Fatal(err)
				}
			}
			if how["pace"] != "" {
				if o.Pace, err = replay.ParsePace(how["pace"]); err != nil {
					t.Fatal(err)
				}
			}
			o.Client = how["only"]
			wrong := func(side string) func(*replay.Options) {
				return func(o *replay.Options) {
					if how[side+"-wrong"] != "" {
						o.Faults = Faults(t, side == "server", texts[side], strings.Fields(how[side+"-wrong"])...)
					}
				}
			}
			golden.Is(t, strings.TrimSuffix(file, ".txt")+".golden", Transcript(t, texts["server"], texts["client"], o, wrong("server"), wrong("client")))
		})
	}
}
