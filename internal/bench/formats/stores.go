package main

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

var formats = []struct {
	name string
	make func() format
}{
	{"(a) a zstd frame a batch", func() format { return &frames{} }},
	{"(a2) s2, then a zstd frame a batch", func() format { return &frames{s2: true} }},
	{"(b) one frame, 8 MiB window", func() format { return &long{window: 8 << 20} }},
	{"(b) one frame, 32 MiB window", func() format { return &long{window: 32 << 20} }},
	{"(c) resources by content", func() format { return &content{} }},
	{"(c2) resources by content, s2 first", func() format { return &content{frames: frames{s2: true}} }},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func options(window int) []zstd.EOption {
	return []zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window),
	}
}

// frames is a length and a zstd frame for each batch.
type frames struct {
	enc *zstd.Encoder
	s2  bool
	buf []byte
}

func (f *frames) begin() { f.enc = must(zstd.NewWriter(nil, options(4<<20)...)) }

func (f *frames) batch(messages [][]byte) []byte {
	var b []byte
	for _, m := range messages {
		b = protowire.AppendBytes(b, m)
	}
	return f.store(b)
}

func (f *frames) store(b []byte) []byte {
	if f.s2 {
		f.buf = s2.Encode(f.buf[:cap(f.buf)], b)
		b = f.buf
	}
	out := f.enc.EncodeAll(b, make([]byte, 8))
	binary.LittleEndian.PutUint64(out, uint64(len(out)-8))
	return out
}

// load reads the frame at the beginning of file.
func (f *frames) load(file []byte) (b, rest []byte) {
	n := binary.LittleEndian.Uint64(file)
	dec := must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)))
	defer dec.Close()
	b = must(dec.DecodeAll(file[8:8+n], nil))
	if f.s2 {
		b = must(s2.Decode(nil, b))
	}
	return b, file[8+n:]
}

// lastFrame is what an index would find.
func lastFrame(file []byte) []byte {
	for {
		n := binary.LittleEndian.Uint64(file)
		if rest := file[8+n:]; len(rest) > 0 {
			file = rest
			continue
		}
		return file
	}
}

func (f *frames) last(file []byte) []byte {
	b, _ := f.load(lastFrame(file))
	var m []byte
	for len(b) > 0 {
		v, n := protowire.ConsumeBytes(b)
		m, b = v, b[n:]
	}
	return m
}

// long is one frame with a long window, flushed after each batch.
type long struct {
	window int
	out    bytes.Buffer
	enc    *zstd.Encoder
}

func (l *long) begin() { l.enc = must(zstd.NewWriter(&l.out, options(l.window)...)) }

func (l *long) batch(messages [][]byte) []byte {
	for _, m := range messages {
		l.enc.Write(protowire.AppendVarint(nil, uint64(len(m))))
		l.enc.Write(m)
	}
	l.enc.Flush()
	return append([]byte(nil), l.out.Next(l.out.Len())...)
}

// last has to read everything before.
func (l *long) last(file []byte) []byte {
	dec := must(zstd.NewReader(bytes.NewReader(file), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)))
	defer dec.Close()
	var m []byte
	var head [1]byte
	for {
		var n uint64
		for shift := 0; ; shift += 7 {
			if _, err := io.ReadFull(dec, head[:]); err != nil {
				return m
			}
			n |= uint64(head[0]&0x7f) << shift
			if head[0] < 0x80 {
				break
			}
		}
		if uint64(cap(m)) < n {
			m = make([]byte, n)
		}
		m = m[:n]
		if _, err := io.ReadFull(dec, m); err != nil {
			return nil
		}
	}
}

// content stores each distinct resource once. A message becomes a list of
// literal bytes, new content, and runs of earlier content.
type content struct {
	frames
	seeds [2]maphash.Seed
	ids   map[[2]uint64]uint64
	plan  []byte
}

const (
	opLiteral = iota // length, bytes
	opNew            // length, bytes
	opRun            // first id, count
)

func (c *content) begin() {
	c.frames.begin()
	c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	c.ids = map[[2]uint64]uint64{}
}

func (c *content) batch(messages [][]byte) []byte {
	c.plan = c.plan[:0]
	for _, m := range messages {
		c.message(m)
	}
	return c.store(c.plan)
}

func (c *content) message(m []byte) {
	c.plan = protowire.AppendVarint(c.plan, uint64(len(m)))
	literal, run, next := 0, 0, uint64(0) // run ids up to next
	flush := func(at int) {
		if run > 0 {
			c.plan = append(c.plan, opRun)
			c.plan = protowire.AppendVarint(c.plan, next-uint64(run))
			c.plan = protowire.AppendVarint(c.plan, uint64(run))
			run = 0
		}
		if at > literal {
			c.plan = append(c.plan, opLiteral)
			c.plan = protowire.AppendBytes(c.plan, m[literal:at])
			literal = at
		}
	}
	for at := 0; at < len(m); {
		num, typ, n := protowire.ConsumeTag(m[at:])
		vn := protowire.ConsumeFieldValue(num, typ, m[at+n:])
		whole := m[at : at+n+vn]
		if num != 2 || typ != protowire.BytesType || len(whole) < 48 {
			at += len(whole)
			continue
		}
		key := [2]uint64{maphash.Bytes(c.seeds[0], whole), maphash.Bytes(c.seeds[1], whole)}
		id, known := c.ids[key]
		if run > 0 && (!known || id != next || at != literal) || at > literal {
			flush(at)
		}
		if known {
			run, next = run+1, id+1
		} else {
			flush(at)
			c.ids[key] = uint64(len(c.ids))
			c.plan = append(c.plan, opNew)
			c.plan = protowire.AppendBytes(c.plan, whole)
		}
		at += len(whole)
		literal = at
	}
	flush(len(m))
}

// last reads all batches that can define something: at worst an index would
// name them all.
func (c *content) last(file []byte) []byte {
	var all [][]byte
	var m []byte
	for rest := file; len(rest) > 0; {
		var plan []byte
		n := binary.LittleEndian.Uint64(rest)
		if n < 128 && len(rest) > int(8+n) { // an acknowledgement defines nothing
			rest = rest[8+n:]
			continue
		}
		plan, rest = c.load(rest)
		for len(plan) > 0 {
			m, plan = replay(m[:0], plan, &all)
		}
	}
	return m
}

// replay appends the first message of plan to m, and what it defines to all.
func replay(m, plan []byte, all *[][]byte) (message, rest []byte) {
	size, n := protowire.ConsumeVarint(plan)
	plan = plan[n:]
	for uint64(len(m)) < size {
		op := plan[0]
		plan = plan[1:]
		if op == opRun {
			first, n := protowire.ConsumeVarint(plan)
			count, k := protowire.ConsumeVarint(plan[n:])
			plan = plan[n+k:]
			for _, v := range (*all)[first : first+count] {
				m = append(m, v...)
			}
			continue
		}
		v, n := protowire.ConsumeBytes(plan)
		m, plan = append(m, v...), plan[n:]
		if op == opNew {
			*all = append(*all, v)
		}
	}
	return m, plan
}
