package script

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// A script is read up to each bound. One more is refused, and the error names the bound.
// Where it would take long to read all that a bound lets through, there is another
// mistake behind it, which is found instead.
func TestReadUpToABound(t *testing.T) {
	read1 := func(text string) error { _, err := read(1, text); return err }
	parsed := func(text string) error { _, err := Parse("", []byte(text)); return err }
	long := strings.Repeat("#", maxLine+1)
	const tick = "t=+1s -- tick"
	played := func(p *player) error {
		l, err := read(1, tick)
		if err != nil {
			t.Fatal(err)
		}
		return p.play([]*line{l})
	}
	for _, c := range []struct {
		of            string
		read          func(more int) error
		says, instead string
	}{
		{"a line", func(more int) error { return read1(long[:maxLine+more]) }, "the line has more than 16 MiB", ""},
		{"a wait", func(more int) error { return read1(fmt.Sprintf("t=+%dns -- tick", int64(maxWait)+int64(more))) }, "is more than a year", ""},
		{"a gap", func(more int) error {
			return parsed(fmt.Sprintf("-- stream-open gap=%dns", int64(maxWait)+int64(more)))
		}, "the gap is more than a year", ""},
		{"repeats", func(more int) error { return read1(fmt.Sprintf("-- tick x%d", maxTimes+more)) }, "is not between x1 and x100000", ""},
		{"no repeats", func(more int) error { return read1(fmt.Sprintf("-- tick x%d", 1-more)) }, "is not between x1 and x100000", ""},
		{
			"lines", func(more int) error {
				return parsed("-- server-end\n" + strings.Repeat("-- tick\n", maxEntries-1+more))
			},
			"the script has more than 100000 lines", "there is no stream yet",
		},
		{"messages", func(more int) error { return played(&player{bytes: int64(maxBytes - len(tick) + more)}) }, "the messages of the script are more than 256 MiB", ""},
		{"time", func(more int) error { return played(&player{now: int64(maxTime) - 1e9 + int64(more)}) }, "the script lasts longer than 100 years", ""},
		{
			"entries", func(more int) error { return played(&player{events: make([]event, maxEntries-1+more, maxEntries+1)}) },
			"the script has more than 100000 entries", "",
		},
		{
			"resources", func(more int) error {
				return parsed("S< type=CDS res=[a@1@2" + strings.Repeat(",a", maxRes-1+more) + "]")
			},
			"the response has more than 262144 resources", "a second version",
		},
		{"bytes of a message", func(more int) error {
			text := fmt.Sprint(maxMessage + more)
			_, err := (&line{text: text}).bytes(span{0, len(text)})
			return err
		}, "is more than 64 MiB", ""},
	} {
		t.Run(c.of, func(t *testing.T) {
			for more, want := range []string{c.instead, c.says} {
				if err := c.read(more); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%d more than the bound: %v, want %q", more, err, want)
				}
			}
		})
	}
}

// Descriptions of contents are remembered up to a bound, and then all are forgotten.
func TestDescriptionsThatAreRemembered(t *testing.T) {
	c := newContents()
	for i := range maxSeen - 1 {
		c.seen[[16]byte{byte(i), byte(i >> 8), 1}] = nil
	}
	for i, want := range []int{maxSeen, 1} {
		if c.describe(xds.TypeURL("CDS"), []byte{byte(i)}, false); len(c.seen) != want {
			t.Errorf("%d are described, not %d", len(c.seen), want)
		}
	}
}

// So many clusters are remembered, to tell what others of their kind refer to.
func TestClustersThatAreRemembered(t *testing.T) {
	c := newContents()
	for i := range maxClusters - 1 {
		c.clusters[clusterKey{typeURL: fmt.Sprint(i)}] = nil
	}
	for i, source := range synth.Sources()[:2] {
		r := &synth.Resource{TypeURL: xds.TypeURL("CDS"), Name: "a", Refs: synth.Refs{EDS: true, Source: source}}
		c.made(r)
		if _, kept := c.clusters[clusterKey{r.TypeURL, source, false}]; kept != (i == 0) {
			t.Errorf("cluster %d beyond the bound is kept: %v", i, kept)
		}
	}
}

// What is longer than what can be read again is counted as lost: entries, the size of a
// message, and of all of them.
func TestWrittenUpToABound(t *testing.T) {
	w := &writer{entries: maxEntries - 1}
	for more := range 2 {
		w.step(&session.Entry{})
		if w.lost[lostLength] != int64(more) {
			t.Errorf("%d entries beyond the bound: %d are lost", more, w.lost[lostLength])
		}
	}
	for _, c := range []struct {
		size, before int64
		want         string
	}{
		{largeMessage - 1, 0, ""},
		{largeMessage, 0, fmt.Sprint(" size=", largeMessage)},
		{maxMessage, 0, fmt.Sprint(" size=", maxMessage)},
		{maxMessage + 1, 0, "lost"},
		{maxMessage, maxBytes - maxMessage, fmt.Sprint(" size=", maxMessage)},
		{maxMessage, maxBytes - maxMessage + 1, "lost"},
	} {
		w := &writer{bytes: c.before}
		got := w.sizeText(&session.Entry{Message: &session.Message{Size: c.size}})
		if w.lost[lostSize] > 0 {
			got += "lost"
		}
		if got != c.want {
			t.Errorf("%d bytes after %d: %q, not %q", c.size, c.before, got, c.want)
		}
	}
}

// Of a stream so many nodes are remembered, others are written in full each time; of a
// connection so many streams and paths that are polled.
func TestPartsOfAStreamThatAreRemembered(t *testing.T) {
	w := &writer{out: bufio.NewWriter(io.Discard), conns: map[session.ConnID]*link{1: {polls: map[string][]*written{}}}}
	st := &written{nodes: map[string]*decode.Node{}}
	for i := range maxNodes - 1 {
		st.nodes[fmt.Sprint("node", i)] = &decode.Node{}
	}
	for i, again := range []string{" node=a", ` node=b ua=x locality="" features=[]`} {
		n := &decode.Node{ID: string(rune('a' + i)), UserAgent: "x"}
		w.nodeText(st, n)
		if got := w.nodeText(st, n); got != again {
			t.Errorf("said again it is %q, not %q", got, again)
		}
	}
	c := w.conns[1]
	for i := range maxEnded - 1 {
		c.polls[fmt.Sprint(i)] = nil
	}
	c.streams = make([]session.StreamID, maxEnded-1)
	for i, path := range []string{"/a", "/b"} {
		e := &session.Entry{Conn: 1, Stream: 7, Method: path}
		w.context(&written{id: e.Stream}, e)
		if _, kept := c.polls[path]; kept != (i == 0) || len(c.streams) != maxEnded {
			t.Errorf("path %d beyond the bound is kept: %v, with %d streams", i, kept, len(c.streams))
		}
	}
}
