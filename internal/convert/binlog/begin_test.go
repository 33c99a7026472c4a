package binlog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/session"
)

// A file that does not even have its first entry is no log: it is not taken for one
// whose program was killed.
func TestNoFirstEntry(t *testing.T) {
	for name, text := range map[string]string{"with a length of four bytes": "\x00\x00\x00\x05ab", "with a varint": "\x05ab"} {
		done, err := binlog.Read(strings.NewReader(text), func(*session.Entry) error { return nil })
		if wrong, is := errors.AsType[*binlog.FormatError](err); !is || wrong.Offset != 0 || done.Torn {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}
