package rewrite

import (
	"bytes"
	"encoding/binary"
	"io"

	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxFrame is what every receiver takes (RFC 9113 4.2). Whether it would
	// take more is not asked.
	maxFrame = 16384
	// keepEncoded is how much memory an encoder keeps between two blocks.
	keepEncoded = 4 << 10
)

// encoder writes header blocks, with a dynamic table of size 0: nothing that it
// writes refers to another block, and the first says so with a size update,
// which is within whatever size the receiver allows now or later.
type encoder struct {
	priority [priorityLen]byte // of the block, if its flags say so
	enc      *hpack.Encoder
	buf      bytes.Buffer
}

// write writes a block as one HEADERS and as many CONTINUATION frames as it
// takes. Of flags, those of its first frame, padding is left out.
func (e *encoder) write(dst io.Writer, stream uint32, flags byte, fields []session.Field) error {
	if e.enc == nil {
		e.enc = hpack.NewEncoder(&e.buf)
		e.enc.SetMaxDynamicTableSizeLimit(0)
	}
	e.buf.Reset()
	e.buf.Write(make([]byte, frameHeadLen))
	if flags &^= flagPadded | flagEndHeaders; flags&flagPriority != 0 {
		e.buf.Write(e.priority[:])
	}
	for _, f := range fields {
		// A bytes.Buffer takes everything.
		_ = e.enc.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value, Sensitive: f.Secret || neverIndexed(f.Name)})
	}
	// Each frame's head stands where the frame before it, which is written by
	// then, has its last bytes.
	frame, typ := e.buf.Bytes(), byte(frameHeaders)
	for {
		n := min(len(frame)-frameHeadLen, maxFrame)
		last := frameHeadLen+n == len(frame)
		if last {
			flags |= flagEndHeaders
		}
		binary.BigEndian.PutUint32(frame, uint32(n)<<8|uint32(typ))
		frame[4] = flags
		binary.BigEndian.PutUint32(frame[5:], stream)
		if _, err := dst.Write(frame[:frameHeadLen+n]); err != nil {
			return err
		}
		if last {
			break
		}
		frame, typ, flags = frame[n:], frameContinuation, 0
	}
	if e.buf.Cap() > keepEncoded {
		e.buf = bytes.Buffer{}
	}
	return nil
}

// neverIndexed says that no one on the way may keep a field's value (RFC 7541
// 7.1.3).
func neverIndexed(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie":
		return true
	}
	return false
}
