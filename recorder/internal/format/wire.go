package format

import (
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// eachField calls f with each field of a message.
func eachField(b []byte, f func(protoscan.Field) error) error {
	for len(b) > 0 {
		v, n := protoscan.Read(b)
		if n < 0 {
			return errWire
		}
		if err := f(v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

var errWire = errors.New("a message is not in wire format")

// timeOf is the time that a field holds.
func timeOf(ns uint64) time.Time { return time.Unix(0, int64(ns)).UTC() }
