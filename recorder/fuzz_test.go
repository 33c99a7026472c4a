package recorder

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// FuzzReader feeds any bytes to a reader, as they are and as the contents of a
// block whose header and checksums are right.
func FuzzReader(f *testing.F) {
	file, ends := written(f, 2)
	f.Add(file)
	f.Add(file[:ends[1]])
	f.Add(file[ends[0]:])
	e := message(1, "payload")
	e.Seq = 1
	f.Add(append([]byte{byte(len(encode(&e)))}, encode(&e)...))
	f.Add([]byte{2, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		all, err := drain(r)
		facts := r.Facts()
		if facts.Entries != uint64(len(all)) || facts.Damaged != isDamage(err) || facts.Bytes > int64(len(b)) {
			t.Errorf("%d entries, %v, %+v", len(all), err, facts)
		}
		_ = r.Close()

		r = NewReader(bytes.NewReader(wrapped(t, b)))
		all, _ = drain(r)
		_ = r.Close()
		var last session.Seq
		for _, e := range all {
			if e.Seq <= last {
				t.Errorf("entry %d after entry %d", e.Seq, last)
			}
			last = e.Seq
			if again, err := parseEntry(encode(&e)); err != nil || !reflect.DeepEqual(e, again) {
				t.Errorf("%+v became %+v, %v", e, again, err)
			}
		}
	})
}

// wrapped makes b the contents of a block of one entry.
func wrapped(t *testing.T, b []byte) []byte {
	m := new(memory)
	f, err := newBlockFile(m, &fileHeader{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.enc.Close()
	_, _ = f.enc.Write(b)
	f.head = blockHeader{uncompressed: uint64(len(b)), entries: 1, first: 1, last: 1}
	if err := f.commit(); err != nil {
		t.Fatal(err)
	}
	return m.b
}
