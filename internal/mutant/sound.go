package mutant

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// The skippable frames of docs/format.md.
const (
	magicHeader = 0x184D2A58
	magicBlock  = 0x184D2A59
	magicEnd    = 0x184D2A5A
	magicIndex  = 0x184D2A5B
)

// recording is what a file consists of.
type recording struct {
	header []byte // without its checksum
	blocks []block
	ended  bool
}

type block struct {
	head    []byte // without its checksum
	entries [][]byte
}

var errFormat = errors.New("it is no whole recording")

// Sound returns b, which must be a whole recording, with one to sixteen things
// in it changed: fields of entries and of what is in their messages, entries,
// blocks. All checksums are right. In one of four the header of a block or of
// the file, the index or the end lies.
func Sound(b []byte, r *rand.Rand) ([]byte, error) {
	f, err := read(b)
	if err != nil {
		return nil, err
	}
	for range 1 + r.IntN(1<<r.IntN(5)) {
		f.change(r)
	}
	return f.write(r)
}

func read(b []byte) (*recording, error) {
	f := new(recording)
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	for len(b) > 0 {
		if len(b) < 12 {
			return nil, errFormat
		}
		magic, n := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:]))
		if n < 4 || n > len(b)-8 {
			return nil, errFormat
		}
		payload := b[8 : 8+n-4]
		b = b[8+n:]
		switch magic {
		case magicHeader:
			f.header = payload
		case magicBlock:
			fields, ok := parse(payload)
			if !ok || len(fields) == 0 || fields[0].num != 1 {
				return nil, errFormat
			}
			size, _ := protowire.ConsumeFixed64(fields[0].value)
			if size > uint64(len(b)) {
				return nil, errFormat
			}
			plain, err := dec.DecodeAll(b[:size], nil)
			if err != nil {
				return nil, err
			}
			b = b[size:]
			k := block{head: payload}
			for len(plain) > 0 {
				e, n := protowire.ConsumeBytes(plain)
				if n < 0 {
					return nil, errFormat
				}
				k.entries, plain = append(k.entries, e), plain[n:]
			}
			f.blocks = append(f.blocks, k)
		case magicEnd:
			f.ended = true
		}
	}
	if f.header == nil || len(f.blocks) == 0 {
		return nil, errFormat
	}
	return f, nil
}

// change changes one thing. Nearly all of it is in the entries.
func (f *recording) change(r *rand.Rand) {
	i := r.IntN(len(f.blocks))
	k := &f.blocks[i]
	if len(k.entries) == 0 {
		return
	}
	n := r.IntN(len(k.entries))
	switch r.IntN(16) {
	case 0:
		j := r.IntN(len(f.blocks))
		f.blocks[i], f.blocks[j] = f.blocks[j], f.blocks[i]
	case 1:
		f.blocks = slices.Insert(f.blocks, i, block{k.head, slices.Clone(k.entries)})
	case 2:
		if len(f.blocks) > 1 {
			f.blocks = slices.Delete(f.blocks, i, i+1)
		}
	case 3:
		m := r.IntN(len(k.entries))
		k.entries[n], k.entries[m] = k.entries[m], k.entries[n]
	case 4:
		times := 1 + r.IntN(4)
		if r.IntN(8) == 0 {
			times = min(1000, 1+1<<20/(len(k.entries[n])+1))
		}
		for range times {
			k.entries = slices.Insert(k.entries, n, k.entries[n])
		}
	case 5:
		k.entries = slices.Delete(k.entries, n, n+1)
	case 6:
		k.entries[n] = text(k.entries[n], r)
	case 7: // a time
		k.entries[n] = set(k.entries[n], 2, protowire.Fixed64Type, number(r))
	case 8: // another kind of entry, or another side, connection or stream
		k.entries[n] = set(k.entries[n], protowire.Number(4+r.IntN(5)), protowire.VarintType, uint64(r.IntN(14)))
	default:
		k.entries[n] = message(k.entries[n], r)
	}
}

// set gives the first field of a number another value, or puts it in front.
func set(b []byte, num protowire.Number, typ protowire.Type, v uint64) []byte {
	value := protowire.AppendTag(nil, num, typ)
	switch typ {
	case protowire.Fixed64Type:
		value = protowire.AppendFixed64(value, v)
	case protowire.Fixed32Type:
		value = protowire.AppendFixed32(value, uint32(v))
	default:
		value = protowire.AppendVarint(value, v)
	}
	fields, ok := parse(b)
	if !ok {
		return append(value, b...)
	}
	var out []byte
	done := false
	for _, f := range fields {
		switch {
		case f.num != num:
			out = append(out, f.whole...)
		case !done:
			out, done = append(out, value...), true
		}
	}
	if !done {
		out = append(value, out...)
	}
	return out
}

// get is the first value of a varint field.
func get(b []byte, num protowire.Number) uint64 {
	fields, _ := parse(b)
	for _, f := range fields {
		if f.num == num && f.typ == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(f.value)
			return v
		}
	}
	return 0
}

// write makes a file of f: numbers of entries that ascend again, in three of
// four, and headers that say what is there.
func (f *recording) write(r *rand.Rand) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	lie, liar := -1, r.IntN(len(f.blocks))
	if r.IntN(4) == 0 {
		lie = r.IntN(4)
	}
	if lie == 0 {
		if fields := f.header[8:]; len(fields) > 0 {
			f.header = append(slices.Clone(f.header[:8]), message(fields, r)...)
		}
	}
	out := frame(nil, magicHeader, f.header)
	ascend := r.IntN(4) > 0
	var seq, epoch, content, entries, end uint64
	var index []byte
	for i, k := range f.blocks {
		var plain []byte
		var first, contents uint64
		for _, e := range k.entries {
			if at := get(e, 1); ascend && at <= seq {
				e = set(e, 1, protowire.VarintType, seq+1)
			}
			seq = get(e, 1)
			if first == 0 {
				first = seq
			}
			fields, _ := parse(e)
			for _, f := range fields {
				if f.num == 19 && f.typ == protowire.BytesType {
					contents++
				}
			}
			plain = protowire.AppendBytes(plain, e)
		}
		entries += uint64(len(k.entries))
		if of := get(k.head, 15); of != epoch {
			epoch, content = of, 0
		}
		packed := enc.EncodeAll(plain, nil)
		head := k.head
		for _, v := range [][2]uint64{{3, uint64(len(plain))}, {4, uint64(len(k.entries))}, {5, first}, {6, seq}, {16, content}, {17, contents}} {
			head = set(head, protowire.Number(v[0]), protowire.VarintType, v[1])
		}
		if lie == 1 && i == liar {
			head = message(head, r)
		}
		head = set(head, 2, protowire.Fixed32Type, uint64(crc(packed)))
		head = set(head, 1, protowire.Fixed64Type, uint64(len(packed)))
		content += contents
		index = protowire.AppendVarint(index, uint64(len(out))-end)
		index = protowire.AppendBytes(index, head)
		out = append(frame(out, magicBlock, head), packed...)
		end = uint64(len(out))
	}
	if !f.ended || r.IntN(8) == 0 {
		return out, nil
	}
	if lie == 2 {
		index = text(index, r)
	}
	at := uint64(len(out))
	if r.IntN(8) == 0 {
		at = number(r)
	}
	out = frame(out, magicIndex, append(make([]byte, 8), enc.EncodeAll(index, nil)...))
	var mark []byte
	for i, v := range []uint64{entries, seq, at} {
		if lie == 3 && i == r.IntN(3) {
			v = number(r)
		}
		mark = protowire.AppendFixed64(protowire.AppendTag(mark, protowire.Number(i+1), protowire.Fixed64Type), v)
	}
	return frame(out, magicEnd, mark), nil
}

// frame appends a skippable frame with its checksum.
func frame(b []byte, magic uint32, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)+4))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc(payload))
}

func crc(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Log returns the binary log of a gRPC program with a few of its records
// changed. Their lengths are right again.
func Log(b []byte, r *rand.Rand) []byte {
	var records [][]byte
	for len(b) >= 4 {
		n := binary.BigEndian.Uint32(b)
		if uint64(n) > uint64(len(b)-4) {
			break
		}
		records, b = append(records, b[4:4+n]), b[4+n:]
	}
	var out []byte
	for i := range 1 + r.IntN(1<<r.IntN(5)) {
		if len(records) == 0 {
			break
		}
		n := r.IntN(len(records))
		switch {
		case i > 0 && r.IntN(4) == 0:
			m := r.IntN(len(records))
			records[n], records[m] = records[m], records[n]
		case r.IntN(8) == 0:
			records = slices.Insert(records, n, records[n])
		default:
			records[n] = message(records[n], r)
		}
	}
	for _, e := range records {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(e))), e...)
	}
	return out
}
