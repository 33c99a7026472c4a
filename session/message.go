package session

import "fmt"

// MostRead is the length of the largest message that is decoded, in bytes. The tap
// has as much for all messages that it assembles, unless --tap-memory says otherwise,
// and a message is not decompressed to more. What is larger is recorded and forwarded
// as it is, and nobody looks into it.
const MostRead = 256 << 20

// Message is one gRPC message, or the body of one HTTP request or response.
type Message struct {
	// Data is the message after decompression. It is shorter than Size if
	// Truncated, and still in its Encoding if Compressed. Of a message that is
	// too large to be decoded it is nil, unless a Reader was told to give it.
	Data Chunks
	// Size is the length of the message after decompression, in bytes. While
	// Compressed it is the length before.
	Size int64
	// WireSize is the length as sent, without gRPC's prefix: the bytes that
	// arrived, however many the prefix announced.
	WireSize int64
	// Encoding is the compression that the sender applied, or "" for none.
	Encoding string
	// Compressed says that Data has not been decompressed: by the tap, which
	// never does, or because the log's writer could not.
	Compressed bool
	// Masked says that secrets in Data were replaced by masks.
	Masked bool
	// Truncated says that Data holds only the beginning: the message was too
	// large to keep, or its stream ended before it was whole.
	Truncated bool
	// Hash is the SHA-256 of the bytes as sent; only of truncated messages.
	Hash []byte
}

// Whole says whether Data is all of the message, and can be decoded. What is not
// whole is not known: its nonce, its version or its names may be in what is missing.
func (m *Message) Whole() bool { return !m.Truncated && m.Unread() == "" }

// Unread says why nothing of Data is to be decoded, "" if it is.
func (m *Message) Unread() string {
	switch {
	case m.Compressed:
		return "the message is still compressed"
	case m.Large():
		return fmt.Sprintf("too large to decode: %d bytes", max(m.Size, m.Data.Len()))
	}
	return ""
}

// Large says that the message is longer than MostRead. Of one that is truncated what
// was kept counts.
func (m *Message) Large() bool {
	return m.Data.Len() > MostRead || m.Size > MostRead && !m.Truncated
}

// Chunks is a sequence of bytes kept in pieces, so that a large message never
// has to be one allocation.
type Chunks [][]byte

// Len is the number of bytes.
func (c Chunks) Len() int64 {
	var n int64
	for _, b := range c {
		n += int64(len(b))
	}
	return n
}

// Bytes returns all of it in one piece. It copies only if there is more than
// one chunk; the caller must not write to the result.
func (c Chunks) Bytes() []byte {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return c[0]
	}
	out := make([]byte, 0, c.Len())
	for _, b := range c {
		out = append(out, b...)
	}
	return out
}
