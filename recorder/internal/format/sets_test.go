package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// The sets of a header are whole, or say that there are more.
func TestSetsOfABlock(t *testing.T) {
	var h BlockHeader
	for i := MaxBlockStreams; i > 0; i-- {
		h.Add(&session.Entry{Seq: 1, Stream: session.StreamID(2 * i)}, nil)
		h.Add(&session.Entry{Seq: 1, Stream: session.StreamID(2 * i)}, nil)
	}
	h.Add(&session.Entry{Seq: 1, Conn: 9}, nil)
	if h.ManyStreams || len(h.Streams) != MaxBlockStreams || !slices.IsSorted(h.Streams) || h.Stream != 2*MaxBlockStreams || h.Conn != 9 {
		t.Errorf("%d streams, more: %t, the highest %d, %v", len(h.Streams), h.ManyStreams, h.Stream, h.Streams)
	}
	for range 2 {
		h.Add(&session.Entry{Seq: 1, Stream: 5}, nil)
		if !h.ManyStreams || len(h.Streams) != 0 {
			t.Errorf("one more: %v, more: %t", h.Streams, h.ManyStreams)
		}
	}
	var labels []string
	for i := range maxBlockLabels {
		labels = append(labels, fmt.Sprint(i))
	}
	h.Clear()
	if !reflect.DeepEqual(h, BlockHeader{Streams: []uint64{}, Labels: []string(nil)}) {
		t.Errorf("it begins with %+v", h)
	}
	h.Add(&session.Entry{Seq: 1}, labels)
	h.Add(&session.Entry{Seq: 2}, labels[3:])
	if h.ManyLabels || !slices.Equal(h.Labels, labels) || len(h.Streams) != 0 {
		t.Errorf("%q, more: %t", h.Labels, h.ManyLabels)
	}
	for range 2 {
		h.Add(&session.Entry{Seq: 3}, []string{"one more"})
		if !h.ManyLabels || len(h.Labels) != 0 {
			t.Errorf("one more: %q, more: %t", h.Labels, h.ManyLabels)
		}
	}
	for n, many := range map[int]bool{maxLabel: false, maxLabel + 1: true} {
		h.Clear()
		if h.Add(&session.Entry{Seq: 1}, []string{strings.Repeat("x", n)}); h.ManyLabels != many {
			t.Errorf("a label of %d bytes, more: %t", n, h.ManyLabels)
		}
	}
	h = BlockHeader{Compressed: 1, Entries: 1, First: 1, Last: 1, Labels: slices.Concat(labels, labels)}
	var again BlockHeader
	if err := again.Parse(payload(h.Append(nil))); err != nil || len(again.Labels) != maxBlockLabels {
		t.Errorf("of too many labels %d are read, %v", len(again.Labels), err)
	}
}

// A header counts what was lost, which is not what somebody chose to leave out.
func TestCountsOfABlock(t *testing.T) {
	var h BlockHeader
	at := time.Unix(100, 0)
	h.Add(&session.Entry{Seq: 3, Time: at}, nil)
	h.Add(&session.Entry{Seq: 5, Time: at.Add(-time.Second), Message: &session.Message{Size: 10}}, nil)
	h.Add(&session.Entry{Seq: 6, Time: at.Add(time.Second), Message: &session.Message{Size: 20}}, nil)
	for cause := range session.GapCause(8) {
		before := h
		h.Add(&session.Entry{Seq: 7 + session.Seq(cause), Time: at, Gap: &session.Gap{Entries: 4, Cause: cause}}, nil)
		if lost := h.Lost - before.Lost; cause.Chosen() != (lost == 0) || !cause.Chosen() && (lost != 4 || h.Gaps != before.Gaps+1) {
			t.Errorf("cause %d: %d lost in %d gaps", cause, lost, h.Gaps-before.Gaps)
		}
	}
	if h.First != 3 || h.Last != 14 || h.Entries != 11 || h.Messages != 2 || h.MessageBytes != 30 || h.Min != Nanos(at)-1e9 || h.Max != Nanos(at)+1e9 {
		t.Errorf("%+v", h)
	}
}

// Headers fit into the room that is kept for them.
func TestHeaderRoom(t *testing.T) {
	const most = ^uint64(0)
	h := BlockHeader{
		Compressed: most, Uncompressed: most, Sum: 1<<32 - 1, Entries: most, First: session.Seq(most), Last: session.Seq(most), Min: -1, Max: -1,
		Messages: most, Gaps: most, Lost: most, MessageBytes: -1, Conn: most, Stream: most, Epoch: most, Content: most, Contents: most,
		Carried: true, ManyStreams: true, ManyLabels: true,
	}
	for range MaxBlockStreams {
		h.Streams = append(h.Streams, most)
	}
	for range maxBlockLabels {
		h.Labels = append(h.Labels, strings.Repeat("x", maxLabel))
	}
	if n := len(h.Append(nil)); n > HeaderRoom {
		t.Errorf("%d bytes in a room of %d", n, HeaderRoom)
	}
}

// Descriptors survive, in as many parts as they need.
func TestDescriptorsSurvive(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 3*descriptorsPart)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for _, set := range [][]byte{nil, []byte("one"), random[:descriptorsPart/2], random, bytes.Repeat(random[:1000], MaxDescriptors/1000)} {
		packed, err := PackDescriptors(set)
		if err != nil {
			t.Fatal(err)
		}
		h := FileHeader{Created: time.Unix(1, 0).UTC(), Descriptors: packed}
		f := walk(t, h.Append(nil))
		if f.header.Descriptors != packed || f.header.DescriptorBytes != uint64(len(packed)) {
			t.Errorf("%d bytes became %d, announced as %d", len(packed), len(f.header.Descriptors), f.header.DescriptorBytes)
		}
		if got, err := UnpackDescriptors([]byte(packed)); err != nil || !bytes.Equal(got, set) {
			t.Errorf("of %d bytes %d were unpacked, %v", len(set), len(got), err)
		}
	}
	if _, err := PackDescriptors(make([]byte, MaxDescriptors)); err != nil {
		t.Error(err)
	}
	if _, err := PackDescriptors(make([]byte, MaxDescriptors+1)); err == nil {
		t.Error("too many are packed")
	}
	if _, err := UnpackDescriptors([]byte("no zstd")); err == nil {
		t.Error("what is not packed is unpacked")
	}
}

// A file of another version says which, and nothing else is believed; a file of none says so.
func TestFileHeaders(t *testing.T) {
	h := FileHeader{Program: "p"}
	good := payload(h.Append(nil))
	later := bytes.Clone(good)
	later[len(Magic)] = 9
	var got FileHeader
	if err := got.Parse(later); err != nil || got.Version != 9 || got.Program != "" {
		t.Errorf("%+v, %v", got, err)
	}
	for name, b := range map[string][]byte{"nothing": nil, "short": good[:11], "another magic": append([]byte("xdsq"), good[4:]...), "cut": good[:len(good)-1]} {
		if new(FileHeader).Parse(b) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1
		var got FileHeader
		if err := got.Parse(b); err == nil && got.Version == Version {
			t.Errorf("a changed byte %d is not seen", i)
		}
	}
}
