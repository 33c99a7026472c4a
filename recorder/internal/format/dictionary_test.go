package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// filler is content n, of so many bytes.
func filler(n, size int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%07d ", n), size/8)
}

// runEntry is a message whose data are the contents of a run.
func runEntry(first, count uint64) []byte {
	b := AppendEntry(nil, &session.Entry{Seq: 1, Message: &session.Message{}})
	run := protowire.AppendVarint(protowire.AppendVarint(nil, first), count)
	return protowire.AppendBytes(protowire.AppendTag(b, FieldRun, protowire.BytesType), run)
}

func said(d *Dictionary, first, count uint64) string {
	var e session.Entry
	if _, err := ParseEntry(&e, runEntry(first, count), d); err != nil {
		return "error: " + err.Error()
	}
	if d.Missing {
		d.Missing = false
		return "missing: " + string(e.Message.Data.Bytes())
	}
	return string(e.Message.Data.Bytes())
}

// block is what stands before the contents of a block.
func block(epoch, content, contents uint64) *BlockHeader {
	return &BlockHeader{Epoch: epoch, Content: content, Contents: contents}
}

// begin makes a dictionary of blocks of three contents, "a", "b" and so on, each at its number.
func begin(t *testing.T, lenient bool, firsts ...uint64) *Dictionary {
	t.Helper()
	d := &Dictionary{Lenient: lenient}
	for i, first := range firsts {
		if err := d.Begin(block(1, first, 3), int64(i+1)); err != nil {
			t.Fatal(err)
		}
		var c [][]byte
		for k := range uint64(3) {
			c = append(c, []byte{byte('a' + first + k)})
		}
		if err := d.Fill(&d.Spans[len(d.Spans)-1], c); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestRuns(t *testing.T) {
	all, gap := begin(t, false, 0, 3, 6), begin(t, true, 0, 6)
	for _, tc := range []struct {
		dict         *Dictionary
		first, count uint64
		want         string
	}{
		{all, 0, 1, "a"},
		{all, 0, 9, "abcdefghi"},
		{all, 2, 1, "c"},
		{all, 2, 2, "cd"},
		{all, 3, 3, "def"},
		{all, 8, 1, "i"},
		{all, 8, 2, "error: contents 8 to 9 are not there"},
		{all, 9, 1, "error: contents 9 to 9 are not there"},
		{all, 0, 10, "error: contents 0 to 9 are not there"},
		{all, 0, 0, "error: a message is not in wire format"},
		{all, MaxContents + 1, 1, "error: a message is not in wire format"},
		{all, 0, MaxContents + 1, "error: a message is not in wire format"},
		{all, MaxContents, MaxContents, "error: contents 1048576 to 2097151 are not there"},
		{gap, 0, 3, "abc"},
		{gap, 0, 4, "missing: abc"},
		{gap, 2, 6, "missing: cgh"},
		{gap, 3, 3, "missing: "},
		{gap, 5, 2, "missing: g"},
		{gap, 6, 3, "ghi"},
		{gap, 8, 3, "missing: i"},
		{gap, 9, 3, "missing: "},
	} {
		for _, pieces := range []bool{false, true} {
			tc.dict.Pieces = pieces
			if got := said(tc.dict, tc.first, tc.count); got != tc.want {
				t.Errorf("%d from %d, in pieces %t: %q, want %q", tc.count, tc.first, pieces, got, tc.want)
			}
		}
	}
}

// Blocks come in an order; who is lenient passes over what is lost, and nobody takes a content
// for another one.
func TestBlocksInOrder(t *testing.T) {
	for _, tc := range []struct {
		name    string
		lenient bool
		next    *BlockHeader
		want    string
	}{
		{"the next", false, block(1, 3, 2), ""},
		{"none", false, block(1, 3, 0), ""},
		{"again", false, block(1, 0, 3), "content 0 where content 3 must come"},
		{"later", false, block(1, 4, 3), "content 4 where content 3 must come"},
		{"an epoch", false, block(2, 0, 3), ""},
		{"an epoch within", false, block(2, 1, 3), "epoch 2 begins with content 1"},
		{"an old epoch", false, block(0, 0, 3), "epoch 0 after epoch 1"},
		{"later, lenient", true, block(1, 4, 3), ""},
		{"an epoch within, lenient", true, block(2, 1, 3), ""},
		{"again, lenient", true, block(1, 2, 3), "content 2 again"},
		{"an old epoch, lenient", true, block(0, 0, 3), "epoch 0 after epoch 1"},
	} {
		d := begin(t, false, 0)
		d.Lenient = tc.lenient
		err := d.Begin(tc.next, 9)
		if got := fmt.Sprint(err); err == nil && tc.want != "" || err != nil && got != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if err != nil || tc.next.Contents == 0 {
			continue
		}
		last := d.Spans[len(d.Spans)-1]
		if last.First != tc.next.Content || last.Count != tc.next.Contents || last.At != 9 {
			t.Errorf("%s: the block is %+v", tc.name, last)
		}
		if err := d.Begin(block(tc.next.Epoch, tc.next.Content+tc.next.Contents, 1), 10); err != nil {
			t.Errorf("%s: and the one after: %v", tc.name, err)
		}
		if tc.next.Epoch == 2 && d.Bytes != 0 {
			t.Errorf("%s: %d bytes of the epoch before are counted", tc.name, d.Bytes)
		}
	}
}

func TestFillIsHeldToItsHeader(t *testing.T) {
	d := new(Dictionary)
	if err := d.Begin(block(1, 0, 2), 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(&d.Spans[0], [][]byte{{1}}); err == nil || !strings.Contains(err.Error(), "a block defines 1 contents, not the 2") {
		t.Error(err)
	}
	half := make([]byte, EpochBytes/2)
	if err := d.Fill(&d.Spans[0], [][]byte{half, half}); err != nil {
		t.Errorf("an epoch that is full: %v", err)
	}
	if err := d.Begin(block(1, 2, 1), 2); err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(&d.Spans[1], [][]byte{{1}}); err == nil {
		t.Error("an epoch is more than full")
	}
}

// A block that is read a second time is taken back first.
func TestUnread(t *testing.T) {
	d := begin(t, false, 0, 3)
	d.Unread(1)
	if len(d.Spans) != 2 || d.Bytes != 6 {
		t.Errorf("what is not the last block was taken back: %d, %d bytes", len(d.Spans), d.Bytes)
	}
	d.Unread(2)
	if len(d.Spans) != 1 || d.Bytes != 3 {
		t.Errorf("%d blocks and %d bytes are left", len(d.Spans), d.Bytes)
	}
	if err := d.Begin(block(1, 3, 3), 2); err != nil {
		t.Error(err)
	}
	if got := said(d, 0, 3); got != "abc" {
		t.Error(got)
	}
	d.Unread(2) // of which nothing is in memory
	if d.Bytes != 3 {
		t.Errorf("%d bytes are left", d.Bytes)
	}
	new(Dictionary).Unread(0)
}

// What was passed over is read when it is needed; without a way to read it, that is an error.
func TestJump(t *testing.T) {
	d := begin(t, false, 0, 3)
	fetched := []int64(nil)
	jump := func(epoch uint64, ats ...int64) {
		var spans []Span
		for i, at := range ats {
			spans = append(spans, Span{First: uint64(3 * i), Count: 3, At: at})
		}
		d.Jump(epoch, spans)
	}
	jump(1, 1, 2, 3)
	if d.Bytes != 6 {
		t.Errorf("of what was in memory %d bytes are left", d.Bytes)
	}
	if got := said(d, 0, 6); got != "abcdef" {
		t.Errorf("what was in memory: %s", got)
	}
	if got := said(d, 5, 2); got != "error: contents 6 to 8 were passed over" {
		t.Error(got)
	}
	d.Fetch = func(at int64) ([][]byte, error) {
		fetched = append(fetched, at)
		if at == 9 {
			return nil, errors.New("the disk is broken")
		}
		return [][]byte{[]byte("x"), []byte("y"), []byte("z")}, nil
	}
	if got := said(d, 5, 2); got != "fx" || !slices.Equal(fetched, []int64{3}) {
		t.Errorf("%s, read %d", got, fetched)
	}
	if err := d.Begin(block(1, 9, 3), 4); err != nil {
		t.Errorf("the next block: %v", err)
	}
	jump(2, 1, 2)
	if got := said(d, 2, 2); got != "zx" || d.Bytes != 6 || !slices.Equal(fetched, []int64{3, 1, 2}) {
		t.Errorf("in another epoch: %s, %d bytes, read %d", got, d.Bytes, fetched)
	}
	jump(3, 9)
	if got := said(d, 0, 1); got != "error: the disk is broken" {
		t.Error(got)
	}
	d.Forget()
	if d.Bytes != 0 {
		t.Errorf("%d bytes are left", d.Bytes)
	}
	d = begin(t, false, 0)
	if d.Forget(); d.Bytes != 3 || said(d, 0, 3) != "abc" {
		t.Error("what cannot be read again was forgotten")
	}
}

// Of an epoch that can be read again a part is in memory, those blocks that were needed last. One
// message may need more. An order that does not suit is not paid for without end.
func TestShedding(t *testing.T) {
	const size, blocks = 1 << 20, 24
	fetches := 0
	var all [][]byte
	for i := range blocks {
		all = append(all, filler(i, size))
	}
	d := &Dictionary{Fetch: func(at int64) ([][]byte, error) {
		fetches++
		return [][]byte{all[at]}, nil
	}}
	for i := range uint64(blocks) {
		if err := d.Begin(block(1, i, 1), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	held := func() (out []int) {
		for i := range d.Spans {
			if d.Spans[i].contents != nil {
				out = append(out, i)
			}
		}
		return out
	}
	for i := range uint64(blocks) {
		if got := said(d, i, 1); got != string(all[i]) {
			t.Fatalf("content %d is %.20q", i, got)
		}
		if d.Bytes > KeepContents || d.Bytes != int64(len(held()))*size {
			t.Fatalf("%d bytes are counted, and %d blocks in memory", d.Bytes, len(held()))
		}
	}
	if got := held(); got[len(got)-1] != blocks-1 || got[0] != blocks-len(got) || len(got) < 6 {
		t.Errorf("those in memory are %d", got)
	}
	before := fetches
	if said(d, blocks-3, 3); fetches != before {
		t.Error("what is in memory was read again")
	}
	if got := said(d, 0, blocks); len(got) != blocks*size || fetches == before {
		t.Errorf("a long message has %d bytes, with %d read", len(got), fetches-before)
	}
	before = fetches
	if said(d, 0, blocks); fetches != before {
		t.Errorf("and %d are read for it again", fetches-before)
	}
	// Short ones since: the room of the long one is given back by and by.
	for range 20 {
		for i := range uint64(blocks) {
			said(d, i, 1)
		}
	}
	if read := int64(fetches) * size; read > MaxAgain+4*blocks*size {
		t.Errorf("%d bytes were read again", read)
	}
}

// What a block may define.
func TestDefinitions(t *testing.T) {
	entry := func(fields ...[]byte) []byte {
		var b []byte
		for _, f := range fields {
			b = protowire.AppendBytes(protowire.AppendTag(b, FieldContent, protowire.BytesType), f)
		}
		return protowire.AppendBytes(nil, protowire.AppendBytes(protowire.AppendTag(b, FieldData, protowire.BytesType), []byte("no content")))
	}
	least := filler(1, MinContent)
	block := slices.Concat(entry(least, filler(2, 96)), entry(), entry(filler(3, 64)))
	got, err := Definitions(block)
	if err != nil || len(got) != 3 || !bytes.Equal(got[0], least) || !bytes.Equal(got[1], filler(2, 96)) || !bytes.Equal(got[2], filler(3, 64)) {
		t.Errorf("%q, %v", got, err)
	}
	clear(block)
	if len(got) != 3 || !bytes.Equal(got[0], least) {
		t.Error("they are not copies")
	}
	for name, b := range map[string][]byte{
		"a short one":  entry(least[:MinContent-1]),
		"half a block": entry(least)[:20],
		"half a field": protowire.AppendBytes(nil, []byte{0x9a}),
		"too many":     bytes.Repeat(entry(filler(1, 1<<24)), EpochBytes>>24+1),
	} {
		if _, err := Definitions(b); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	if got, err := Definitions(bytes.Repeat(entry(filler(1, 1<<24)), EpochBytes>>24)); err != nil || len(got) != EpochBytes>>24 {
		t.Errorf("a full epoch: %d, %v", len(got), err)
	}
}
