package render

import (
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
)

// FuzzDiffLines lays out what differs between whatever two resources say: no
// line can do harm, each change has one, and folding loses none.
func FuzzDiffLines(f *testing.F) {
	f.Add([]byte("\n\x01l\x1a\x05\x12\x03\n\x01f"), []byte("\n\x01l\x1a\x05\x12\x03\n\x01g"), 1)
	f.Add([]byte(`{"a":["x\ny\nz\n",{"b":1}],"c":{}}`), []byte(`{"a":[{"b":2},"x\ny\nw\n"],"c":{"":[]}}`), 0)
	f.Add([]byte(`{"\u001b[31m":"\u202e"}`), []byte(`{"\u001b[31m":"\u009b"}`), -1)
	f.Add([]byte(`{"a":[[1,2],[3]],"a":1}`), []byte(`{"a":[[3],[1,2,4]]}`), 3)
	f.Fuzz(func(t *testing.T, x, y []byte, context int) {
		const listener = "type.googleapis.com/envoy.config.listener.v3.Listener"
		a := (&decode.Resource{TypeURL: listener, Body: x}).Decode()
		b := (&decode.Resource{TypeURL: listener, Body: y}).Decode()
		r := diff.Compare(&a.Root, &b.Root, diff.Options{})
		numbers, lines := make(map[int]bool), 0
		for l := range DiffLines(r, context) {
			if l.Text != Safe(l.Text) || l.Note != Safe(l.Note) || l.Indent < 0 {
				t.Fatalf("line %q, note %q at %d", l.Text, l.Note, l.Indent)
			}
			if l.Change > 0 {
				numbers[l.Change] = true
			}
			if l.Sign != '-' {
				lines += max(l.Equal, 1)
			}
		}
		changes := 0
		for range r.Changes() {
			if changes++; !numbers[changes] {
				t.Fatalf("change %d has no line", changes)
			}
		}
		if want := countLines(&b.Root); lines != want {
			t.Fatalf("%s lines of %s", strconv.Itoa(lines), strconv.Itoa(want))
		}
	})
}
