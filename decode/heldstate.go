package decode

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// HeldState is where a client stands with a resource, as it says itself, in the words
// of an Envoy's config_dump where that has one.
type HeldState string

// The states.
const (
	HeldActive   HeldState = "active"   // it is in use
	HeldStatic   HeldState = "static"   // it is in use, and came from no management server
	HeldWarming  HeldState = "warming"  // it has come, and waits for what it needs
	HeldAwaited  HeldState = "awaited"  // it was asked for, and has not come
	HeldTimeout  HeldState = "timeout"  // it was asked for, and given up
	HeldDraining HeldState = "draining" // it was removed or replaced, and connections may still use it
	HeldFailed   HeldState = "error"    // the update that failed last; what is in use is not affected
	HeldGone     HeldState = "gone"     // it is not there any more
	HeldUnknown  HeldState = "unknown"
)

// Held is where the client stands with the resource. Whether it has any content
// decides between what has come and what is only asked for.
func (r *ResourceStatus) Held() HeldState {
	switch content := r.Body != nil; r.Client {
	case "ACKED":
		if r.Static {
			return HeldStatic
		}
		return HeldActive
	case "REQUESTED":
		if content {
			return HeldWarming
		}
		return HeldAwaited
	case "NACKED", "RECEIVED_ERROR":
		return HeldFailed
	case "TIMEOUT":
		return HeldTimeout
	case "DOES_NOT_EXIST":
		if content {
			return HeldDraining
		}
		return HeldGone
	}
	return HeldUnknown
}

// Unready is a part of an Envoy that is not ready, and what it waits for.
type Unready struct {
	Of      string
	Targets []string
}

const (
	// maxUnready bounds the parts, and the targets of each.
	maxUnready = 256
	// maxUnreadyName bounds each text, in bytes.
	maxUnreadyName = 256
)

// PeekUnready reads an envoy.admin.v3.UnreadyTargetsDumps, which is what an Envoy
// says at /init_dump.
func PeekUnready(data []byte) (out []Unready) {
	for s := protoscan.Of(data); s.Next() && len(out) < maxUnready; {
		dump, is := s.Bytes()
		if !is || s.Num != 1 {
			continue
		}
		var u Unready
		for f := protoscan.Of(dump); f.Next(); {
			text, is := f.Bytes()
			name := strings.ToValidUTF8(string(text[:min(len(text), maxUnreadyName)]), "�")
			switch {
			case is && f.Num == 1:
				u.Of = name
			case is && f.Num == 2 && len(u.Targets) < maxUnready:
				u.Targets = append(u.Targets, name)
			}
		}
		out = append(out, u)
	}
	return out
}
