package recorder

import (
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Facts are what a Reader has met so far, or what Inspect found.
type Facts struct {
	Path    string // "" when it is not read from a file
	Version uint32
	Created time.Time
	Program string // what wrote it
	Masked  bool   // its writer masked secrets
	// Descriptors are those of types in it, a FileDescriptorSet; "" if it has none.
	// BadDescriptors says that it has some that cannot be read.
	Descriptors    string
	BadDescriptors bool

	Complete bool // its regular end was met
	Damaged  bool // see the DamageError

	// Only Inspect says these. Writing is that a writer holds the file; of what lies
	// elsewhere nothing is known of that. UpTo is the number of the last segment that
	// is here, if it has the name of one that was ended: others may come after it, and
	// what is Complete is up to there.
	Writing bool
	UpTo    uint64

	Entries, Messages    uint64
	Connections, Streams uint64
	Gaps, Lost           uint64    // Gap entries, and how many entries they stand for; not what was left out on purpose
	First, Last          time.Time // of entries; zero if there is none
	LastSeq              session.Seq
	Bytes                int64 // of the recording, up to the end of what is whole
	MessageBytes         int64 // of messages after decompression
}

// count adds an entry. Connections and streams are numbered from 1, so that
// the highest number is how many there are, even where a gap hides some.
func (f *Facts) count(e *session.Entry) {
	f.Entries++
	if f.First.IsZero() {
		f.First = e.Time
	}
	f.Last = e.Time
	f.LastSeq = e.Seq
	f.Connections = max(f.Connections, uint64(e.Conn))
	f.Streams = max(f.Streams, uint64(e.Stream))
	if e.Message != nil {
		f.Messages++
		f.MessageBytes += e.Message.Size
	}
	if e.Gap != nil && !e.Gap.Cause.Chosen() {
		f.Gaps++
		f.Lost += e.Gap.Entries
	}
}

// addSegment adds what was found in a segment that comes next.
func (f *Facts) addSegment(s *Facts) {
	if f.First.IsZero() {
		f.First = s.First
	}
	if !s.Last.IsZero() {
		f.Last, f.LastSeq = s.Last, s.LastSeq
	}
	f.Complete, f.Damaged = f.Complete && s.Complete, f.Damaged || s.Damaged
	f.Entries += s.Entries
	f.Messages += s.Messages
	f.MessageBytes += s.MessageBytes
	f.Gaps += s.Gaps
	f.Lost += s.Lost
	f.Bytes += s.Bytes
	f.Connections, f.Streams = max(f.Connections, s.Connections), max(f.Streams, s.Streams)
}

// countBlock adds the entries of a block.
func (f *Facts) countBlock(h *format.BlockHeader) {
	if f.First.IsZero() {
		f.First = time.Unix(0, h.Min).UTC()
	}
	f.Last, f.LastSeq = time.Unix(0, h.Max).UTC(), h.Last
	f.Entries += h.Entries
	f.Messages += h.Messages
	f.MessageBytes += h.MessageBytes
	f.Gaps += h.Gaps
	f.Lost += h.Lost
	f.Connections, f.Streams = max(f.Connections, h.Conn), max(f.Streams, h.Stream)
}
