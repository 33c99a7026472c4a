package recorder

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/decompress"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// load reads the block whose header is payload, at the current position.
func (r *Reader) load(payload []byte) error {
	var h format.BlockHeader
	if err := h.Parse(payload); err != nil {
		return r.damage(err.Error())
	}
	if h.First <= r.last {
		return r.damage(fmt.Sprintf("entry %d again", h.First))
	}
	skip := format.FrameHeadSize + len(payload)
	if r.want != nil && r.chosen != r.at && !r.want(blockOf(&h)) && r.canSkip(&h) {
		return r.skip(&h, skip)
	}
	// The dictionary learns of the block when it is there and right.
	body, err := r.src.body(skip, int64(h.Compressed))
	if err != nil {
		return err
	}
	if r.shared || cap(r.block) > keepBlock {
		r.block, r.shared = nil, false
	}
	var contents [][]byte
	r.block, contents, r.dict.Aside, err = r.inflate(body, r.block[:0], &h)
	if err != nil {
		if errors.Is(err, errShort) {
			r.err = io.EOF // a pipe cannot be read again
			return err
		}
		return r.damage(err.Error())
	}
	if err := r.dict.Begin(&h, r.at); err != nil {
		return r.damage(err.Error())
	}
	if h.Contents > 0 {
		if err := r.dict.Fill(&r.dict.Spans[len(r.dict.Spans)-1], contents); err != nil {
			return r.damage(err.Error())
		}
	}
	r.dict.Cursor, r.dict.Exact, r.dict.Share = h.Content, true, len(r.block)/2
	r.start = r.at
	if err := r.pass(int64(skip) + int64(h.Compressed)); err != nil {
		return err
	}
	r.head, r.given, r.rest = h, 0, r.block
	r.passed += h.Entries
	return nil
}

// canSkip says whether the entries of a block need not be read.
func (r *Reader) canSkip(h *format.BlockHeader) bool { return h.Contents == 0 || r.dict.Fetch != nil }

// skip passes over a block that is all there.
func (r *Reader) skip(h *format.BlockHeader, headSize int) error {
	if _, err := r.src.body(headSize, int64(h.Compressed)); err != nil {
		return err
	}
	at := r.at
	if err := r.pass(int64(headSize) + int64(h.Compressed)); err != nil {
		return err
	}
	if err := r.dict.Begin(h, at); err != nil {
		return r.damageAt(at, err.Error())
	}
	r.passed += h.Entries
	r.last = h.Last
	return nil
}

// inflate puts the block that body holds, as its header has it, into b, and
// returns it with the contents that it defines. Of a block that is too long for that
// the data of its message is aside.
func (r *Reader) inflate(body io.Reader, b []byte, h *format.BlockHeader) (block []byte, contents [][]byte, aside *format.Aside, err error) {
	sum := &sumReader{r: body}
	if err = r.begun(sum); err == nil && h.Uncompressed > format.WholeBlock {
		b, aside, err = format.Sift(r.zstd, h.Uncompressed, r.dict.Large)
	} else if err == nil {
		b, err = r.expand(b, int(h.Uncompressed))
	}
	if err != nil {
		return b, nil, nil, err
	}
	if sum.sum != h.Sum {
		return b, nil, nil, errors.New("the checksum of a block is wrong")
	}
	if h.Contents > 0 {
		contents, err = format.Definitions(b)
	}
	return b, contents, aside, err
}

// begun lets the decompressor begin with body.
func (r *Reader) begun(body io.Reader) (err error) {
	if r.zstd == nil {
		r.zstd, err = decompress.NewZstdReader(body, maxWindow)
		return err
	}
	return r.zstd.Reset(body)
}

// sumReader computes the CRC-32C of what passes.
type sumReader struct {
	r   io.Reader
	sum uint32
}

func (s *sumReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum = crc32.Update(s.sum, format.Castagnoli(), p[:n])
	return n, err
}

// expand fills b with what is decompressed, which must be n bytes. The buffer at
// most doubles with what really came.
func (r *Reader) expand(b []byte, n int) (_ []byte, err error) {
	for err == nil {
		if len(b) == cap(b) {
			if len(b) > n {
				return b, errors.New("a block is longer than its header says")
			}
			grown := make([]byte, len(b), min(n+1, max(2*len(b), format.BlockTarget)))
			copy(grown, b)
			b = grown
		}
		var got int
		got, err = r.zstd.Read(b[len(b):cap(b)])
		b = b[:len(b)+got]
	}
	switch {
	case !errors.Is(err, io.EOF):
		return b, fmt.Errorf("a block cannot be decompressed: %w", err)
	case len(b) != n:
		return b, errors.New("a block is not as long as its header says")
	}
	return b, nil
}

// entry reads the next entry of the block into e, unless it is one that is not
// given.
func (r *Reader) entry(e *session.Entry) (given bool, err error) {
	n, w := protowire.ConsumeVarint(r.rest)
	if w < 0 || n > uint64(len(r.rest)-w) {
		return false, r.damageAt(r.start, "an entry is longer than its block")
	}
	entry := r.rest[w : w+int(n)]
	r.rest = r.rest[w+int(n):]
	r.given++
	seq, at, err := format.ParsePlace(entry)
	if err != nil {
		return false, r.damageAt(r.start, err.Error())
	}
	h := &r.head
	switch {
	case seq <= r.last, seq > h.Last, r.given == 1 && seq != h.First, r.given == h.Entries && seq != h.Last,
		(r.given == h.Entries) != (len(r.rest) == 0):
		return false, r.damageAt(r.start, "the entries of a block are not those that its header announces")
	}
	r.last = seq
	if seq < r.fromSeq || r.timed && at < r.fromTime {
		r.dict.Exact = false
		return false, nil
	}
	alias, err := format.ParseEntry(e, entry, &r.dict)
	if err != nil {
		if isDamage(err) { // of another block, which it refers to
			return false, err
		}
		return false, r.damageAt(r.start, err.Error())
	}
	if e.Seq != seq {
		return false, r.damageAt(r.start, "an entry has two numbers")
	}
	// An entry that is most of its block keeps it; another would keep all its
	// neighbours too.
	r.shared = r.shared || alias
	r.facts.count(e)
	return true, nil
}
