package history

import (
	"crypto/sha256"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

type rawHash [sha256.Size]byte

// rawHashOf is equal for equal bytes of one type.
func rawHashOf(r *decode.Resource) rawHash {
	body := sha256.Sum256(r.Body)
	return sha256.Sum256(append(body[:], r.TypeURL...))
}

// hashOf is the hash of the content that was encoded as raw says.
func (h *History) hashOf(raw rawHash, r *decode.Resource, masked bool) [16]byte {
	if hash, ok := h.hashes[raw]; ok {
		return hash
	}
	if len(h.hashes) >= maxHashes {
		clear(h.hashes)
	}
	hash := h.inspector.Inspect(r.TypeURL, r.Body, masked).Hash
	h.hashes[raw] = hash
	return hash
}

// Step is two versions that a person wants to see against each other.
type Step struct{ From, To int }

// LastStep chooses two of the versions of a resource that one client was sent:
// if the last one was rejected, the one that the client uses in its place and
// the one rejected; else the last two. Versions without content do not count.
// It is false if there are not two.
func LastStep(versions []Version) (Step, bool) {
	last := -1
	for i := len(versions) - 1; i >= 0; i-- {
		if !versions[i].Removed {
			last = i
			break
		}
	}
	if last < 0 {
		return Step{}, false
	}
	before := -1
	for i := last - 1; i >= 0; i-- {
		switch v := &versions[i]; {
		case v.Removed:
		case versions[last].State == engine.Rejected && v.State == engine.Acked:
			return Step{i, last}, true
		case before < 0:
			before = i
		}
	}
	return Step{before, last}, before >= 0
}
