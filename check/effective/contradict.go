package effective

import (
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Contradicts says how what was seen of a resource excludes what the client
// says of it; "" if it does not, or if it is not known or too new.
func Contradicts(s *engine.Subscription, r *decode.ResourceStatus, name string, now time.Time, ack time.Duration) string {
	it, n := s.Have.Get(name), s.Newest()
	if s.Lost || s.Exempt() || it == nil || it.Content == nil || n == nil || s.Seeded && !s.SentHere(name) ||
		now.Sub(n.At) <= ack || s.Last != nil && now.Sub(s.Last.At) <= ack {
		return ""
	}
	carrier := s.Carrier(it)
	taken := carrier != nil && carrier.Verdict == engine.ACKed
	switch r.Client {
	case "DOES_NOT_EXIST", "TIMEOUT":
		return fmt.Sprintf("it was sent, and not removed, by entry %d", s.LastWith(carrier))
	case "NACKED":
		if taken {
			return fmt.Sprintf("entry %d accepted it", carrier.Judged())
		}
	case "ACKED":
		version := it.Version
		if s.Full() && !s.Stream.Delta() {
			version = n.Version
		}
		if taken && r.Version != "" && r.Version != version && s.NeverHad(r.Version, it) {
			return fmt.Sprintf("its version is %q there and %q here", words.Clip(r.Version), words.Clip(version))
		}
	}
	return ""
}
