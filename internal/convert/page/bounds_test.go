package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// building is a builder of a page without findings.
func building() *builder {
	told := new(convert.Told)
	return &builder{
		bounds: usual(), pool: newPool(), documents: render.NewDocuments(), table: render.NewTable(0, render.Style{}), ladder: render.NewLadder(),
		told: told, sizes: &sizes{bounds: usual(), from: -1}, needed: map[session.Seq]bool{1: true}, nodes: newNodes(told),
	}
}

func word(text string) document.Tree { return document.Tree{Kind: document.Word, Text: text} }

// A message is decoded up to a bound; a larger one is named.
func TestMessagesHaveABound(t *testing.T) {
	for more := range 2 {
		b := building()
		e := session.Entry{Seq: 1, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{make([]byte, maxWhole+more)}}}
		if err := b.visit(&e, &check.Change{}, true); err != nil || len(b.large) != more || b.rows[0].body == nil != (more > 0) {
			t.Errorf("%d bytes more than the bound: %d are too large, %v", more, len(b.large), err)
		}
	}
}

// A piece is there up to a bound; in the place of a larger one is null.
func TestPiecesHaveABound(t *testing.T) {
	for more, want := range []string{"0", "null"} {
		p, r := newPool(), new(refs)
		if r.in(p, make([]byte, maxPiece+more)); r.text.String() != want || len(p.pieces) != 1-more {
			t.Errorf("%d bytes more than the bound: %s", more, r.text.String())
		}
	}
}

// The content of a compared resource is there up to a bound, and as long as there is room.
func TestContentsHaveABound(t *testing.T) {
	for _, tc := range []struct {
		size, bodies int
		want         bool
	}{
		{maxPiece, 0, true},
		{maxPiece + 1, 0, false},
		{100, maxBodies + maxEvidence - 101, true},
		{100, maxBodies + maxEvidence - 100, false},
	} {
		b := building()
		b.bodies = tc.bodies
		got := b.compare(&convert.Compared{Body: document.Document{Root: word(strings.Repeat("1", tc.size))}})
		if got.Content != nil != tc.want {
			t.Errorf("%d bytes, beside %d: %t", tc.size, tc.bodies, got.Content != nil)
		}
	}
}

// The lines of a comparison are there up to a bound of their number and one of their bytes.
func TestLinesHaveABound(t *testing.T) {
	compared := func(items ...document.Tree) (lines, all, size int, more bool) {
		list := func(items []document.Tree) *document.Tree {
			return &document.Tree{Members: []document.Member{{Name: "a", Value: document.Tree{Kind: document.Array, Items: items}}}}
		}
		c := convert.Compared{Before: &history.Version{}, Diff: diff.Compare(list(nil), list(items), diff.Options{})}
		got := building().compare(&c)
		for l := range render.DiffLines(c.Diff, equalLines) {
			all, size = all+1, size+len(l.Text)+l.Indent+overhead
		}
		return len(got.Lines), all, size, got.More
	}
	_, around, bytes, _ := compared(word(""))
	for more := range 2 {
		lines, all, _, is := compared(slices.Repeat([]document.Tree{word("1")}, maxLines-around+1+more)...)
		if all != maxLines+more || lines != maxLines || is != (more > 0) {
			t.Errorf("of %d lines there are %d, more: %t", all, lines, is)
		}
		lines, all, size, is := compared(word(strings.Repeat("1", maxChanges-bytes+more)))
		if size != maxChanges+more || lines != all-more || is != (more > 0) {
			t.Errorf("of %d bytes in %d lines there are %d lines, more: %t", size, all, lines, is)
		}
	}
}

// So many clients are listed; those beyond are counted.
func TestClientsHaveABound(t *testing.T) {
	for more := range 2 {
		told := new(convert.Told)
		for n := range maxClients + more {
			told.Clients = append(told.Clients, convert.ToldClient{ID: string(rune('a' + n))})
		}
		nodes := newNodes(told)
		if list, others := nodes.clients(told); len(list) != maxClients || others != more || len(nodes.all) != maxClients {
			t.Errorf("%d clients are listed, %d are not", len(list), others)
		}
	}
}

// The node of a client is there if its message is no larger than is decoded, and if there
// is room.
func TestNodesHaveABound(t *testing.T) {
	node := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte("\x0a\x01n"))
	const json = `{"id":"n"}`
	for _, tc := range []struct {
		size, room int
		met, there bool
	}{
		{len(node), len(json), true, true},
		{len(node), len(json) - 1, true, false},
		{maxWhole, maxNodes, true, true},
		{maxWhole + 1, maxNodes, false, false},
	} {
		data := bytes.Clone(node)
		if n := tc.size - len(data); n > 0 { // a long version, and then a short one, which counts
			data = protowire.AppendBytes(protowire.AppendTag(data, 1, protowire.BytesType), make([]byte, n-7))
			data = protowire.AppendBytes(protowire.AppendTag(data, 1, protowire.BytesType), nil)
		}
		if len(data) != tc.size {
			t.Fatalf("%d bytes and not %d", len(data), tc.size)
		}
		b := building()
		b.nodes = newNodes(&convert.Told{Clients: []convert.ToldClient{{ID: "n"}}})
		b.nodes.room = tc.room
		w := &telling{all: []session.Entry{
			{Seq: 1, Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"},
			{Seq: 2, Conn: 1, Stream: 1, Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))}},
		}}
		if err := w.walk(func(e *session.Entry, c *check.Change, _ bool) error {
			b.documents.See(e)
			b.nodes.meet(b, e, c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if of := b.nodes.all["n"]; of.NodeSeq != 0 != tc.met || of.Node != nil != tc.there {
			t.Errorf("%d bytes, and room for %d: met: %t, there: %t", tc.size, tc.room, of.NodeSeq != 0, of.Node != nil)
		}
	}
}

// So many findings are listed, so many of them are explained, and the others are counted.
func TestFindingsHaveABound(t *testing.T) {
	w := &telling{all: read(t, "sessions/demo")[:20]}
	var found []check.Finding
	for n := range maxFindings + 1 {
		found = append(found, check.Finding{Rule: &check.Rule{ID: fmt.Sprint(n)}, Severity: check.Warning, Seqs: []session.Seq{w.all[0].Seq}})
	}
	var out strings.Builder
	if _, err := Write(&out, w.walk, Options{Report: convert.Report{Findings: func() []check.Finding { return found }}}); err != nil {
		t.Fatal(err)
	}
	c := contentsOf(t, out.String())
	if len(c.Findings) != maxFindings || c.Summary.Unlisted != 1 || len(c.Evidence) != maxExplained {
		t.Errorf("%d are listed, %d are not, %d are explained", len(c.Findings), c.Summary.Unlisted, len(c.Evidence))
	}
}
