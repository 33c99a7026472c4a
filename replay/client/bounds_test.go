package client

import (
	"encoding/binary"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// brings is a response of one resource with a content of its own.
func brings(n int) *decode.Message {
	return &decode.Message{Resources: []decode.Resource{{Name: "a", TypeURL: xds.TypeURL("CDS"), Body: []byte{0xff, byte(n)}}}}
}

// Of so many contents the hash is remembered.
func TestHashesThatAreRemembered(t *testing.T) {
	c := newContents(inspect.New(nil), false)
	for i := range maxHashes - 1 {
		c.hashes[[32]byte{byte(i), byte(i >> 8)}] = [16]byte{}
	}
	for n := range 2 {
		if c.hash(xds.TypeURL("CDS"), []byte{0xff, byte(n)}); len(c.hashes) != maxHashes {
			t.Errorf("%d are remembered", len(c.hashes))
		}
	}
}

// So many contents of one name are remembered, of those that are expected and of those
// that came.
func TestContentsOfOneName(t *testing.T) {
	c := newContents(inspect.New(nil), false)
	for i := range maxSameNames - 1 {
		h := holding{hash: [16]byte(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(i)))}
		c.expected["a"] = append(c.expected["a"], &expectation{holding: h})
		c.got["a"] = append(c.got["a"], content{holding: h})
	}
	for n, kept := range []bool{true, false} {
		items := c.expect(1, 1, false, brings(n))
		if len(items) != 1 || c.known(items[0]) != kept {
			t.Errorf("%d beyond the bound: %d items, expected %v", n, len(items), !kept)
		}
		items = c.receive(brings(n))
		if len(items) != 1 || c.came("a", items[0].holding) != kept {
			t.Errorf("%d beyond the bound: %d items, came %v", n, len(items), !kept)
		}
	}
}

// Of what was not expected so many bytes are kept to explain it.
func TestBytesOfWhatWasNotExpected(t *testing.T) {
	for more, kept := range []bool{true, false} {
		c := newContents(inspect.New(nil), false)
		c.bytes = maxGot - 2 + more
		if c.receive(brings(1)); len(c.got["a"]) != 1 || (c.got["a"][0].body != nil) != kept || c.bytes > maxGot {
			t.Errorf("%d bytes beyond the bound: %+v, %d bytes", more, c.got["a"], c.bytes)
		}
	}
}
