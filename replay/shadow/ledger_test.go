package shadow

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// entriesOf are the entries of the lines of a script, line by line.
func entriesOf(t *testing.T, lines []string) (out [][]session.Entry) {
	t.Helper()
	text := ""
	for _, l := range lines {
		text += "t=+1h " + l + "\n"
	}
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out = make([][]session.Entry, len(lines))
	var first time.Time
	for e := range s.Entries() {
		if first.IsZero() {
			first = e.Time
		}
		if n := int(e.Time.Sub(first) / time.Hour); e.Kind != session.KindTime && n < len(out) {
			if e.Message != nil {
				m := *e.Message
				m.Data = session.Chunks{slices.Clone(m.Data.Bytes())}
				e.Message = &m
			}
			out[n] = append(out[n], e)
		}
	}
	return out
}

// A story is told in lines: "live" is what is recorded, "B" and "A2" what these give to a client, each followed by
// lines of scripts; "wait" lets time pass. What the shadow asks, and what it tells, comes below.
func (r *trial) story(planes map[string]*plane, text string) string {
	t := r.t
	lines := map[string][]string{}
	var steps [][2]string
	for l := range strings.Lines(text) {
		who, what, _ := strings.Cut(strings.TrimSpace(l), " ")
		if who == "" {
			continue
		}
		steps = append(steps, [2]string{who, strings.TrimSpace(what)})
		if p := planes[who]; who == "live" {
			lines[who] = append(lines[who], strings.TrimSpace(what))
		} else if _, said, is := strings.Cut(what, ": "); p != nil && is {
			lines[who] = append(lines[who], said)
		}
	}
	said := map[string][][]session.Entry{}
	for who, list := range lines {
		said[who] = entriesOf(t, list)
	}
	began := time.Now()
	var b strings.Builder
	next := func(who string) []session.Entry {
		list := said[who][0]
		said[who] = said[who][1:]
		return list
	}
	told := 0
	show := func() {
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		var all []string
		for ; told < len(r.events); told++ {
			e := r.events[told]
			line := fmt.Sprintf("    %-7v %s: %s\n", e.Time.Sub(began).Round(10*time.Millisecond), e.What, e.Text)
			if d := e.Difference; d != nil && d.Detail != "" {
				line += "            " + strings.ReplaceAll(strings.TrimSpace(d.Detail), "\n", "\n            ") + "\n"
			}
			all = append(all, line)
		}
		for _, name := range slices.Sorted(maps.Keys(planes)) {
			for len(planes[name].heard) > 0 {
				all = append(all, "    "+name+" is asked "+asText(<-planes[name].heard, strings.Contains(text, "live D>"))+"\n")
			}
		}
		slices.Sort(all)
		b.WriteString(strings.Join(all, ""))
	}
	for _, step := range steps {
		who, what := step[0], step[1]
		fmt.Fprintf(&b, "%s %s\n", who, what)
		switch {
		case who == "wait":
			d, err := time.ParseDuration(what)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
		case who == "live":
			for _, e := range next(who) {
				r.seq++
				time.Sleep(time.Millisecond)
				e.Seq, e.Time = r.seq, time.Now()
				r.entries <- e
			}
		case who == "lost":
			r.seq++
			r.entries <- session.Entry{Seq: r.seq, Kind: session.KindGap, Time: time.Now(), Gap: &session.Gap{Streams: []session.StreamID{1}, Entries: 1}}
		case what == "freezes":
			planes[who].freeze <- struct{}{}
		case what == "thaws":
			<-planes[who].freeze
		case strings.HasPrefix(what, "ends "):
			planes[who].ends <- status.Error(codes.Internal, what[5:])
		default:
			node, _, _ := strings.Cut(what, ": ")
			for _, e := range next(who) {
				if e.Kind == session.KindMessage && e.Side == session.Server {
					planes[who].of(node) <- e.Message.Data.Bytes()
				}
			}
		}
		show()
	}
	sum := r.end()
	show()
	fmt.Fprintf(&b, "%s\n", sum)
	var all []string
	for _, d := range sum.Differences {
		all = append(all, golden.Compact(d, began))
	}
	slices.Sort(all) // those of one beat come in any order
	for _, l := range slices.Concat(all, sum.Fields, sum.Undecided) {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// asText is a request in a line.
func asText(b []byte, delta bool) string {
	method := "StreamAggregatedResources"
	if delta {
		method = "DeltaAggregatedResources"
	}
	m := decode.Peek(xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/"+method), session.Client, "", b)
	got := fmt.Sprintf("%s v%s n%s %q", xds.ShortType(m.TypeURL), m.Version, m.Nonce, m.Names)
	if delta {
		slices.Sort(m.Subscribe)
		got = fmt.Sprintf("%s n%s +%q -%q", xds.ShortType(m.TypeURL), m.Nonce, m.Subscribe, m.Unsubscribe)
	}
	if m.Node != nil {
		got += " by " + m.Node.ID
	}
	if m.Error != nil {
		got += fmt.Sprintf(" refused %d %s", m.Error.Code, m.Error.Message)
	}
	return got
}

// What is asked, told and summed up in whole stories, with the time at which it is.
func TestStories(t *testing.T) {
	all, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(all) < 5 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				o := Options{Idle: 10 * time.Second}
				planes := map[string]*plane{"B": newPlane(t, nil)}
				o.Target = planes["B"].target("B")
				if strings.Contains(string(text), "\nA2 ") {
					planes["A2"] = newPlane(t, nil)
					second := planes["A2"].target("A2")
					o.Noise = &second
				}
				r := startWith(t, runs(o))
				golden.Is(t, strings.TrimSuffix(name, ".txt")+".golden", r.story(planes, string(text)))
			})
		})
	}
}
