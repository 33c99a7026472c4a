package decompress

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// A message may expand to expandRatio times its length, to expandFree in
	// any case, and to more than is decoded (session.MostRead) in no case.
	expandFree  = 16 << 20
	expandRatio = 100
	// expandWindow is the largest zstd window that is allocated.
	expandWindow = 64 << 20
	// expandPiece is the largest chunk of what was decompressed.
	expandPiece = 1 << 20
)

// Decompressor undoes what grpc-encoding says. It keeps its zstd decoder; the
// zero value is ready.
type Decompressor struct {
	zstd *zstd.Decoder
}

func (d *Decompressor) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// Message replaces the message of an entry by its plain form. If it cannot, it
// says why among the entry's problems.
func (d *Decompressor) Message(e *session.Entry) {
	plain, err := d.expand(e.Message)
	if err != nil {
		e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], "cannot decompress: "+err.Error())
		return
	}
	m := *e.Message
	m.Data, m.Size, m.Compressed = plain, plain.Len(), false
	e.Message = &m
}

func (d *Decompressor) expand(m *session.Message) (session.Chunks, error) {
	if m.Truncated {
		return nil, fmt.Errorf("only the first %d bytes were kept", m.Data.Len())
	}
	packed := m.Data.Len()
	limit := min(max(expandFree, expandRatio*packed), session.MostRead)
	switch m.Encoding {
	case "identity":
		return m.Data, nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(newChunkReader(m.Data))
		if err != nil {
			return nil, err
		}
		return collect(r, limit)
	case "deflate":
		// RFC 9110 means zlib; some send the naked stream.
		if r, err := zlib.NewReader(newChunkReader(m.Data)); err == nil {
			return collect(r, limit)
		}
		return collect(flate.NewReader(newChunkReader(m.Data)), limit)
	case "zstd":
		if err := d.resetZstd(newChunkReader(m.Data)); err != nil {
			return nil, err
		}
		defer func() { _ = d.zstd.Reset(nil) }()
		return collect(d.zstd, limit)
	case "snappy":
		plain, err := collect(snappy.NewReader(newChunkReader(m.Data)), limit)
		if err == nil || errors.Is(err, tooLong(limit)) {
			return plain, err
		}
		return expandSnappyBlock(m.Data, limit, err)
	}
	return nil, fmt.Errorf("unknown encoding %q", m.Encoding)
}

func (d *Decompressor) resetZstd(r io.Reader) (err error) {
	if d.zstd != nil {
		return d.zstd.Reset(r)
	}
	d.zstd, err = NewZstdReader(r, expandWindow)
	return err
}

// NewZstdReader starts no goroutine and allocates as bytes arrive.
func NewZstdReader(r io.Reader, maxWindow uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
}

// expandSnappyBlock undoes the format without frames, which knows its length
// beforehand. framed is why it is not the format with frames.
func expandSnappyBlock(data session.Chunks, limit int64, framed error) (session.Chunks, error) {
	packed := data.Bytes()
	n, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, framed
	}
	if int64(n) > limit {
		return nil, tooLong(limit)
	}
	plain, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, framed
	}
	return session.Chunks{plain}, nil
}

var (
	errTooLong  = errors.New("it expands to more than is sensible for its length")
	errTooLarge = fmt.Errorf("it expands to more than %d MiB", session.MostRead>>20)
)

// tooLong says which bound a limit is.
func tooLong(limit int64) error {
	if limit == session.MostRead {
		return errTooLarge
	}
	return errTooLong
}

// collect reads all of r into chunks, up to limit bytes.
func collect(r io.Reader, limit int64) (session.Chunks, error) {
	var (
		out   session.Chunks
		total int64
		size  = 4 << 10
	)
	for {
		// Not io.ReadFull: it hides whether the end came too early for r.
		chunk, n := make([]byte, size), 0
		var err error
		for n < size && err == nil {
			var got int
			got, err = r.Read(chunk[n:])
			n += got
		}
		if total += int64(n); total > limit {
			return nil, tooLong(limit)
		}
		if n > 0 {
			out = append(out, chunk[:n])
		}
		switch {
		case err == nil:
			size = min(2*size, expandPiece)
		case errors.Is(err, io.EOF):
			return out, nil
		default:
			return nil, err
		}
	}
}

// newChunkReader reads chunks one after the other, byte by byte where the
// decompressors want that.
func newChunkReader(c session.Chunks) io.Reader {
	if len(c) == 1 {
		return bytes.NewReader(c[0])
	}
	readers := make([]io.Reader, len(c))
	for i := range c {
		readers[i] = bytes.NewReader(c[i])
	}
	return io.MultiReader(readers...)
}
