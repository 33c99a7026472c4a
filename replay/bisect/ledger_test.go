package bisect

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
	"github.com/xdsproxy/xdsproxy/session"
)

// The trials of a recording with live clients: all that is said, with its time, what comes of it, and the proof.
//
// A file has a recording as a script, and after lines that begin with "==" the clients. What a line of these says
// is what the client asks for, as picky has it, or what it does with a response:
//
//	refuses CDS +a -b ~c from=2: why
//
// "refuses", "ignores" or "leaves"; a type; and the names that are in it, are not, or have another content than the
// first one that came. With from it does so only from that time on, with to until then.
func TestTrials(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
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
			recorded, rest, _ := strings.Cut(string(text), "== ")
			var out string
			synctest.Test(t, func(t *testing.T) { out = trialsOf(t, recorded, "== "+rest) })
			golden.Is(t, strings.TrimSuffix(file, ".txt")+".golden", out)
		})
	}
}

// trialsOf are the trials of a recording, as text.
func trialsOf(t *testing.T, recorded, rest string) string {
	var o Options
	var mu sync.Mutex
	var said []told
	begun := time.Now()
	say := func(who string) func(string) {
		return func(s string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, told{time.Since(begun), who, strings.TrimRight(s, " ")})
		}
	}
	o.Say = say("")
	o.Progress = func(trial, left int) { o.Say(fmt.Sprintf("trial %d, %d left", trial, left)) }
	var clients []*picky
	var seq session.Seq
	masked := false
	for l := range strings.Lines(rest) {
		l = strings.TrimSpace(l)
		what, head := strings.CutPrefix(l, "== ")
		if !head {
			if l != "" {
				clients[len(clients)-1].does(t, l)
			}
			continue
		}
		var c *picky
		for _, w := range strings.Fields(what) {
			switch key, value, set := strings.Cut(w, "="); {
			case key == "seq":
				n, err := strconv.Atoi(value)
				if err != nil {
					t.Fatal(err)
				}
				seq = session.Seq(n)
			case key == "only":
				o.Client = value
			case key == "late" && c != nil:
				c.late, _ = time.ParseDuration(value)
			case key == "timeout":
				o.Timeout, _ = time.ParseDuration(value)
			case key == "wait":
				o.Wait, _ = time.ParseDuration(value)
			case w == "masked":
				masked = true
			case w == "delta":
				c.delta = true
			case w == "apart":
				c.apart = true
			case set:
				t.Fatalf("what is %s?", w)
			default:
				c = &picky{node: strings.Trim(w, `"`), refuse: func(*decode.Message, int) string { return "" }, tell: say(w + " ")}
				clients = append(clients, c)
			}
		}
	}
	open := scripted(t, recorded)
	if masked {
		open = maskedNow(open)
	}
	r, err := ReadRejection(t.Context(), seq, open)
	if err != nil {
		return fmt.Sprintf("%v\n%s\n", err, golden.Compact(err, begun))
	}
	out := rejectionOf(r)
	f, err := tried(t, r, o, clients...)
	// What is said at one time is said in any order.
	slices.SortStableFunc(said, func(a, b told) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.who, b.who)) })
	for _, s := range said {
		out += fmt.Sprintf("%-8v %s%s\n", s.at, s.who, s.text)
	}
	out += "\n" + golden.Compact(f, begun) + "\n"
	if err != nil {
		out += fmt.Sprintf("%v\n%s\n", err, golden.Compact(err, begun))
	}
	out += fmt.Sprintf("found %v, told %v, of removals: %q\n", f.Found(), f.Told(), f.RemovalWords())
	if !f.Told() {
		return out
	}
	var b bytes.Buffer
	if lost, err := script.Write(&b, f.Entries()); err != nil || len(lost) > 0 {
		t.Errorf("%v, %v", lost, err)
	}
	for l := range strings.Lines(b.String()) {
		if !strings.HasPrefix(l, "#") {
			out += l
		}
	}
	return out
}

// told is what somebody says at some time.
type told struct {
	at        time.Duration
	who, text string
}

// does teaches a client what a line says.
func (c *picky) does(t *testing.T, line string) {
	verb, rest, _ := strings.Cut(line, " ")
	if verb == "asks" {
		c.asks = append(c.asks, rest)
		return
	}
	cond, why, _ := strings.Cut(rest, ": ")
	words := strings.Fields(cond)
	first, met := map[string]string{}, 0
	holds := func(m *decode.Message, n int) bool {
		if xds.ShortType(m.TypeURL) != words[0] {
			return false
		}
		content := map[string]string{}
		for i := range m.Resources {
			r := &m.Resources[i]
			content[r.Name] = contentOf(r)
			if n == 1 {
				first[r.Name] = content[r.Name]
			}
		}
		for _, w := range words[1:] {
			key, value, set := strings.Cut(w, "=")
			name := w[1:]
			switch is := content[name] != ""; {
			case set && key == "from", set && key == "to":
			case w[0] == '+' && !is, w[0] == '-' && is, w[0] == '~' && (!is || content[name] == first[name]):
				return false
			case w[0] != '+' && w[0] != '-' && w[0] != '~':
				t.Errorf("what is %s %s?", w, value)
			}
		}
		met++
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			if n, err := strconv.Atoi(value); err == nil && (key == "from" && met < n || key == "to" && met > n) {
				return false
			}
		}
		return true
	}
	refuse, leave := c.refuse, c.leave
	switch verb {
	case "refuses", "ignores":
		if verb == "ignores" {
			why = "(silence)"
		}
		c.refuse = func(m *decode.Message, n int) string {
			if holds(m, n) {
				return why
			}
			return refuse(m, n)
		}
	case "leaves":
		c.leave = func(m *decode.Message, n int) bool { return holds(m, n) || leave != nil && leave(m, n) }
	default:
		t.Fatalf("what is %s?", line)
	}
}

// maskedNow is a recording in which the private keys are masked.
func maskedNow(open func() (replay.Source, func() error, error)) func() (replay.Source, func() error, error) {
	return func() (replay.Source, func() error, error) {
		src, done, err := open()
		all := *src.(*replaytest.Entries)
		for i := range all {
			if m := all[i].Message; m != nil && all[i].Side == session.Server {
				now := *m
				now.Masked = true
				now.Data = session.Chunks{bytes.ReplaceAll(slices.Clone(m.Data.Bytes()), []byte("/etc/certs/"), []byte("[masked:a1]"))}
				all[i].Message = &now
			}
		}
		return &all, done, err
	}
}

// rejectionOf is what is known of a rejection before the trials.
func rejectionOf(r *Rejection) string {
	out := fmt.Sprintf("%s: %q\n%d resources, %d accepted before, without %s, %s\n", r.Sentence(), r.Words, r.Resources, r.Base, r.Removed, r.Notes)
	for i := range r.Suspects {
		s := &r.Suspects[i]
		out += fmt.Sprintf("suspect %s %s@%s %s", s.Type, s.Name, s.Version, s.Invalid)
		if s.old != nil {
			out += fmt.Sprintf(", was @%s", s.old.version)
		}
		out += "\n"
	}
	var keys []string
	for key := range r.has {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		h := r.has[key]
		out += fmt.Sprintf("has %s whole=%v accepted=%v", key, h.whole, h.accepted)
		for _, it := range h.list() {
			out += " " + it.name + "@" + it.version
		}
		out += "\n"
	}
	return out + "\n"
}
