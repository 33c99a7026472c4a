package recorder

import (
	"bytes"
	"hash/crc32"
	"io"
	"reflect"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// FuzzReader feeds any bytes to a reader, as they are and as the contents of a
// block whose header and checksums are right, and which others may refer to.
func FuzzReader(f *testing.F) {
	file, ends := written(f, 2)
	f.Add(file)
	f.Add(file[:ends[1]])
	f.Add(file[ends[0]:])
	packed, _ := format.PackDescriptors([]byte("\x0a\x03\x0a\x01x"))
	f.Add(append((&format.FileHeader{Descriptors: packed}).Append(nil), file[ends[0]:]...))
	e := message(1, "payload")
	e.Seq = 2
	f.Add(append([]byte{byte(len(encode(&e)))}, encode(&e)...))
	f.Add([]byte{2, 8, 2})
	defines := append([]byte{0x08, 2, 0x6a, 0, 0x9a, 1, format.MinContent}, make([]byte, format.MinContent)...)
	refers := []byte{0x08, 2, 0x6a, 0, 0xa2, 1, 2, 0, 1, 0xa2, 1, 2, 0, 1}
	f.Add(append([]byte{byte(len(defines))}, defines...))
	f.Add(append([]byte{byte(len(refers))}, refers...))
	f.Add(append([]byte{byte(len(refers) - 7)}, refers[:len(refers)-7]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		all, err := drain(r)
		facts := r.Facts()
		if facts.Entries != uint64(len(all)) || facts.Damaged != isDamage(err) || facts.Bytes > int64(len(b)) {
			t.Errorf("%d entries, %v, %+v", len(all), err, facts)
		}
		_ = r.Close()

		// By index, or by hopping: no entry comes that is not in a block.
		if r := newFileReader("", &counted{b: b}, io.NopCloser(nil)); r.begin() == nil {
			err := r.Seek(2)
			rest, rerr := drain(r)
			if len(rest) > 0 && rest[0].Seq < 2 {
				t.Errorf("sought 2, found %d", rest[0].Seq)
			}
			if f := r.survey.facts; err == nil && rerr == nil && f.Bytes > int64(len(b)) {
				t.Errorf("%+v of %d bytes", f, len(b))
			}
			_ = r.Close()
		}

		// In pieces, from a file of which blocks can be read again.
		if r := newFileReader("", &counted{b: wrapped(t, b)}, io.NopCloser(nil)); r.begin() == nil {
			r.Pieces()
			for err := error(nil); err == nil; {
				var e session.Entry
				if e, err = r.Next(t.Context()); err == nil && e.Message != nil && e.Message.Data.Len() > format.MaxData {
					t.Errorf("entry %d has %d bytes", e.Seq, e.Message.Data.Len())
				}
			}
			_ = r.Close()
		}

		r = NewReader(bytes.NewReader(wrapped(t, b)))
		all, _ = drain(r)
		if r.dict.Bytes > format.EpochBytes {
			t.Errorf("it keeps %d bytes", r.dict.Bytes)
		}
		_ = r.Close()
		var last session.Seq
		for _, e := range all {
			if e.Seq <= last {
				t.Errorf("entry %d after entry %d", e.Seq, last)
			}
			last = e.Seq
			if again, err := decode(encode(&e)); err != nil || !reflect.DeepEqual(e, again) {
				t.Errorf("%+v became %+v, %v", e, again, err)
			}
		}
	})
}

// wrapped makes b the contents of a block of one entry, which comes after one
// that defines something.
func wrapped(t *testing.T, b []byte) []byte {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	e := response(session.Chunks{bytes.Repeat([]byte("defined "), blocks.LoneContent/8)})
	e.Seq = 1
	put(t, f, e)
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	body := enc.EncodeAll(b, nil)
	defined, _ := format.Definitions(b)
	h := format.BlockHeader{
		Compressed: uint64(len(body)), Sum: crc32.Checksum(body, format.Castagnoli()),
		Uncompressed: uint64(len(b)), Entries: 1, First: 2, Last: 2,
		Epoch: 1, Content: 1, Contents: uint64(len(defined)),
	}
	return append(h.Append(m.b), body...)
}
