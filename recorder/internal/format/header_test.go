package format

import (
	"reflect"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

func TestHeadersSurvive(t *testing.T) {
	block := BlockHeader{
		Compressed: 1, Uncompressed: 2, Sum: 3, Entries: 4, First: 5, Last: 60, Min: 7, Max: 8, Messages: 9, Gaps: 10, Lost: 11,
		MessageBytes: 12, Conn: 13, Stream: 14, Epoch: 15, Content: 16, Contents: 17, Carried: true,
		Streams: []uint64{18, 1 << 40}, ManyStreams: true, Labels: []string{"a", "b"}, ManyLabels: true,
	}
	var again BlockHeader
	if err := again.Parse(payload(block.Append(nil))); err != nil || !reflect.DeepEqual(block, again) {
		t.Errorf("%+v became %+v, %v", block, again, err)
	}
	file := FileHeader{
		Created: time.Unix(1, 2).UTC(), Program: "p", Masked: true, Segment: 3, First: 4, Began: time.Unix(5, 6).UTC(),
	}
	var readFile FileHeader
	err := readFile.Parse(payload(file.Append(nil)))
	file.Version = Version
	if err != nil || !reflect.DeepEqual(file, readFile) {
		t.Errorf("%+v became %+v, %v", file, readFile, err)
	}
	end := EndMark{Entries: 1, Last: 2, Index: 3}
	var readEnd EndMark
	if b := end.Append(nil); len(b) != EndSize || readEnd.Parse(payload(b)) != nil || readEnd != end {
		t.Errorf("%+v became %+v", end, readEnd)
	}
	for i := range end.Append(nil)[FrameHeadSize:] {
		b := payload(end.Append(nil))
		b[i] ^= 1
		if readEnd.Parse(b) == nil {
			t.Errorf("a changed byte %d is not seen", i)
		}
	}
}

// payload is what a frame holds.
func payload(frame []byte) []byte { return frame[FrameHeadSize:] }

// What cannot have been written is refused.
func TestImpossibleBlockHeaders(t *testing.T) {
	good := BlockHeader{Compressed: 100, Uncompressed: 100, Entries: 2, First: 1, Last: 2}
	for name, change := range map[string]func(h *BlockHeader){
		"too long":           func(h *BlockHeader) { h.Uncompressed = MaxBlock + 1 },
		"grown":              func(h *BlockHeader) { h.Compressed = MaxCompressed(100) + 1 },
		"empty":              func(h *BlockHeader) { h.Entries = 0 },
		"no first":           func(h *BlockHeader) { h.First = 0 },
		"backwards":          func(h *BlockHeader) { h.First = 3 },
		"more than fit":      func(h *BlockHeader) { h.Entries = 3 },
		"too high":           func(h *BlockHeader) { h.First, h.Last = 1, session.Seq(MaxSeq)+1 },
		"content":            func(h *BlockHeader) { h.Content = MaxContents + 1 },
		"contents":           func(h *BlockHeader) { h.Content, h.Contents = MaxContents, 1 },
		"content and beyond": func(h *BlockHeader) { h.Content, h.Contents = 1, MaxContents },
	} {
		h := good
		change(&h)
		var again BlockHeader
		if again.Parse(payload(h.Append(nil))) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	if again := (BlockHeader{}); again.Parse(payload(good.Append(nil))) != nil {
		t.Error("a good one is refused")
	}
}
