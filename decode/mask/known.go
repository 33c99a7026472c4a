package mask

import (
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

const (
	// maxKnown is how many parts of requests are remembered.
	maxKnown = 4096
	// minPart is from how many bytes on one is.
	minPart = 512
)

// known remembers in which long parts of requests nothing looks like a secret:
// each acknowledgement repeats the names that a client asks for. It knows them by
// a hash with a seed of its own, which nobody can aim at.
type known struct {
	seed  maphash.Seed
	clean recent.Map[uint64, struct{}]
}

// hasSecret is secrets.In of a request. No text goes over the end of a
// field.
func (k *known) hasSecret(b []byte) bool {
	start, num := 0, protowire.Number(0) // fields of this number begin at start
	for s := protoscan.Of(b); s.Next(); {
		if s.Num != num {
			if k.part(b[start:s.At]) {
				return true
			}
			start, num = s.At, s.Num
		}
	}
	return k.part(b[start:])
}

func (k *known) part(b []byte) bool {
	if len(b) < minPart {
		return secrets.In(b)
	}
	sum := maphash.Bytes(k.seed, b)
	if _, ok := k.clean.Get(sum); ok {
		return false
	}
	if secrets.In(b) {
		return true
	}
	k.clean.Put(sum, struct{}{}, 1, maxKnown)
	return false
}
