package format

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// FuzzSift holds an entry that was sifted against the same entry read at once: its data
// is the same, and what was left out is as long as that.
func FuzzSift(f *testing.F) {
	entry := func(data ...[]byte) []byte {
		b := AppendEntry(nil, &session.Entry{Seq: 7, Kind: session.KindMessage, Message: &session.Message{Size: 3}})
		for _, d := range data {
			b = protowire.AppendBytes(protowire.AppendTag(b, FieldData, protowire.BytesType), d)
		}
		return b
	}
	f.Add(entry([]byte("abc")), uint16(0))
	f.Add(entry(make([]byte, leastAside), []byte("between"), make([]byte, 3*asidePiece+1)), uint16(1))
	f.Add(protowire.AppendBytes(protowire.AppendTag(entry([]byte("abc")), FieldContent, protowire.BytesType), make([]byte, MinContent)), uint16(0))
	f.Add(protowire.AppendVarint(protowire.AppendTag(nil, fieldAside, protowire.VarintType), 0), uint16(0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		block := append(protowire.AppendVarint(nil, uint64(len(b))), b...)
		torn := block[:max(0, len(block)-int(cut))]
		if _, _, err := Sift(bytes.NewReader(torn), uint64(len(block)), true); err == nil && cut > 0 {
			t.Error("what is torn passes")
		}
		parse := func(block []byte, aside *Aside) (data session.Chunks, err error) {
			n, w := protowire.ConsumeVarint(block)
			if n != uint64(len(block)-w) {
				t.Fatalf("an entry of %d bytes says %d", len(block)-w, n)
			}
			var e session.Entry
			_, err = ParseEntry(&e, block[w:], &Dictionary{Pieces: true, Large: true, Aside: aside})
			if e.Message != nil {
				data = e.Message.Data
			}
			return data, err
		}
		want, wrong := parse(block, nil)
		sifted, aside, err := Sift(bytes.NewReader(block), uint64(len(block)), true)
		if err != nil || wrong != nil {
			return
		}
		if got, err := parse(sifted, aside); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("of %d bytes there are %d, %v", want.Len(), got.Len(), err)
		}
		_, aside, err = Sift(bytes.NewReader(block), uint64(len(block)), false)
		left := int64(0)
		for _, p := range aside.parts {
			left += p.left
		}
		if err != nil || left > want.Len() {
			t.Errorf("of %d bytes %d were left out, %v", want.Len(), left, err)
		}
	})
}
