package recorder

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

const (
	// nearBeginning is how far a file that cannot be opened is looked at to say
	// whether it was a recording.
	nearBeginning = 64 << 10
	// mostForeign is how far one is looked through for the first block, so that
	// something else of any size is soon known to be that.
	mostForeign = 1 << 30
)

// begin reads the header. If that is damaged it looks for the first block, by which
// the recording begins; if there is none, it says what is wrong with the header.
func (s *salvage) begin(ctx context.Context) error {
	r := s.r
	wrong := r.beginSoon()
	if _, is := errors.AsType[*FormatError](wrong); !is && !s.misversioned(wrong) {
		return wrong // or nil
	}
	from := r.at // where the header ends, if it was read
	at, h, err := s.search(ctx, from, from+mostForeign)
	if err != nil {
		return err
	}
	if h == nil {
		return wrong
	}
	if inside, err := s.contains(ctx, at); err != nil || inside {
		return cmp.Or(err, wrong)
	}
	if r.first == 0 {
		s.done.Headless = true
		r.facts.Version, r.facts.Created = format.Version, time.Unix(0, h.Min).UTC()
	} else {
		r.facts.BadDescriptors = true // it ended in them
	}
	s.done.Damages, s.done.Bytes = 1, at-from
	if !h.Carried { // those come at the beginning of a segment, and have any number
		s.before = h.First - 1
	}
	r.packed, r.first, r.began = nil, at, true
	s.goOn(at, h)
	return nil
}

// misversioned says whether an error is of a header in which the version is damaged:
// with ours, its checksum is right.
func (s *salvage) misversioned(err error) bool {
	if _, is := errors.AsType[*VersionError](err); !is {
		return false
	}
	_, payload, err := s.r.peekFrame()
	if err != nil {
		return false
	}
	binary.LittleEndian.PutUint32(payload[len(format.Magic):], format.Version)
	var h format.FileHeader
	return h.Parse(payload) == nil
}

// contains says whether another header is before end: what does not begin as a
// recording, and holds one as it was written, is something else, as an archive is.
func (s *salvage) contains(ctx context.Context, end int64) (is bool, err error) {
	err = s.scan(ctx, format.MagicHeader, 1, end, func(at int64, b []byte) (int64, error) {
		var h format.FileHeader
		if len(b) >= format.FrameHeadSize {
			n := int64(binary.LittleEndian.Uint32(b[4:]))
			if b = b[format.FrameHeadSize:]; n <= int64(len(b)) && h.Parse(b[:n]) == nil {
				is = true
				return math.MaxInt64, nil
			}
		}
		return at + 1, nil
	})
	return is, err
}

// looksDamaged says whether what does not begin as a recording has the header of a
// block near its beginning.
func looksDamaged(r *Reader, src *fileSource) bool {
	s, found := newSalvage(r, src, nil), int64(-1)
	err := s.scan(context.Background(), format.MagicBlock, r.at, r.at+nearBeginning, func(at int64, b []byte) (int64, error) {
		if _, _, err := parseHead(b); err != nil {
			return at + 1, nil
		}
		found = at
		return math.MaxInt64, nil
	})
	if err != nil || found < 0 {
		return false
	}
	inside, err := s.contains(context.Background(), found)
	return err == nil && !inside
}
