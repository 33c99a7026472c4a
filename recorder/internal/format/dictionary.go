package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// Dictionary is what a reader knows of the contents of one epoch: which block
// defines which, and those that it has met or needed. An epoch bounds it; where
// a block can be read again, keepContents does.
type Dictionary struct {
	epoch uint64
	Spans []Span
	next  uint64 // the first id that no span has
	Bytes int64  // of contents that are in memory
	uses  uint64 // messages that needed contents
	needs int64  // bytes of the spans that the last of them needed
	most  int64  // that one of the latest needed
	again int64  // bytes that were let go of and read again in this epoch
	// Fetch reads the contents of a block that was jumped over; nil if that
	// cannot be done.
	Fetch func(at int64) ([][]byte, error)

	// Lenient makes it pass over contents that are not there, and say so in
	// missing, which its user resets.
	Lenient, Missing bool
	// Pieces makes messages come in chunks, one for each content.
	Pieces bool
	// Own is how many bytes the last message has beside contents.
	Own int64
	// Large makes messages that are too large to be decoded come with their data.
	Large bool
	// Share is the length from which on data in a block is not copied out of it.
	Share int
	// Aside is what Sift took out of the block; nil for one that it has not seen.
	Aside *Aside
	// Cursor is the content that the next definition in the block defines;
	// none if some were passed over.
	Cursor  uint64
	Exact   bool
	Scratch session.Chunks // of the messages that were read since it was emptied
	parts   []dataPart     // empty room for those of an entry
}

// Span is the contents that one block defines.
type Span struct {
	First, Count uint64
	At           int64 // of the block
	contents     [][]byte
	used         uint64 // the last of the uses that needed one of them
	bytes        int64  // of contents
	shed         bool   // contents were let go of
	lost         bool
}

// KeepContents is how many bytes of contents stay in memory of those that can be
// read again; more where a single message needs more.
const KeepContents = 8 << 20

// MaxAgain is how many bytes of contents are let go of and read again in an
// epoch before no more are let go of: their users come in an order that does not
// suit.
const MaxAgain = EpochBytes / 4

// Begin makes room for the contents of a block, which comes next in the file.
func (d *Dictionary) Begin(h *BlockHeader, at int64) error {
	switch {
	case h.Epoch < d.epoch:
		return fmt.Errorf("epoch %d after epoch %d", h.Epoch, d.epoch)
	case h.Epoch > d.epoch:
		if h.Content != 0 && !d.Lenient {
			return fmt.Errorf("epoch %d begins with content %d", h.Epoch, h.Content)
		}
		d.reset(h.Epoch)
	case h.Content != d.next && !d.Lenient:
		return fmt.Errorf("content %d where content %d must come", h.Content, d.next)
	}
	if h.Content > d.next {
		d.Spans = append(d.Spans, Span{First: d.next, Count: h.Content - d.next, lost: true})
		d.next = h.Content
	}
	if h.Content != d.next {
		return fmt.Errorf("content %d again", h.Content)
	}
	if h.Contents > 0 {
		d.Spans = append(d.Spans, Span{First: h.Content, Count: h.Contents, At: at})
		d.next += h.Contents
	}
	return nil
}

func (d *Dictionary) reset(epoch uint64) {
	clear(d.Spans)
	d.epoch, d.Spans, d.next, d.Bytes, d.again = epoch, d.Spans[:0], 0, 0, 0
}

// Jump makes it the dictionary of an epoch up to a block, of which the spans
// are known. It keeps what it has of them.
func (d *Dictionary) Jump(epoch uint64, spans []Span) {
	if d.epoch == epoch {
		for i := range min(len(spans), len(d.Spans)) {
			if spans[i].At == d.Spans[i].At {
				spans[i] = d.Spans[i]
			}
		}
	}
	d.epoch, d.Spans, d.next, d.Bytes, d.needs, d.Missing, d.Exact = epoch, spans, 0, 0, 0, false, false
	for _, s := range spans {
		d.next = s.First + s.Count
		if s.contents != nil {
			d.Bytes += s.bytes
		}
	}
}

// Fill keeps the contents of the span that begins with id first.
func (d *Dictionary) Fill(s *Span, contents [][]byte) error {
	if uint64(len(contents)) != s.Count {
		return fmt.Errorf("a block defines %d contents, not the %d that its header announces", len(contents), s.Count)
	}
	s.bytes = 0
	for _, c := range contents {
		s.bytes += int64(len(c))
	}
	if d.Bytes += s.bytes; d.Bytes > EpochBytes {
		return errors.New("an epoch has more content than any that is written")
	}
	s.contents, s.used = contents, d.uses
	d.shed()
	return nil
}

// Forget lets go of the contents in memory, if they can be read again.
func (d *Dictionary) Forget() {
	if d.Fetch == nil {
		return
	}
	for i := range d.Spans {
		d.Spans[i].contents = nil
	}
	d.Bytes = 0
}

// Unread takes back the block that came last, which will come again.
func (d *Dictionary) Unread(at int64) {
	if n := len(d.Spans); n > 0 && d.Spans[n-1].At == at {
		s := &d.Spans[n-1]
		d.next -= s.Count
		if s.contents != nil {
			d.Bytes -= s.bytes
		}
		*s = Span{}
		d.Spans = d.Spans[:n-1]
	}
}

// use begins a message.
func (d *Dictionary) use() {
	d.most = max(d.most-d.most/64, d.needs)
	d.needs = 0
	d.uses++
}

// shed lets go of contents that were not used for longest. It does so no more in
// an epoch in which too much of that had to be read again.
func (d *Dictionary) shed() {
	limit := max(KeepContents, 2*max(d.most, d.needs))
	if d.Fetch == nil || d.Bytes <= limit || d.again > MaxAgain {
		return
	}
	var held []*Span
	for i := range d.Spans {
		if s := &d.Spans[i]; s.contents != nil && s.used < d.uses {
			held = append(held, s)
		}
	}
	slices.SortFunc(held, func(a, b *Span) int { return cmp.Compare(a.used, b.used) })
	for _, s := range held {
		if d.Bytes <= limit*3/4 {
			return
		}
		d.Bytes -= s.bytes
		s.contents, s.shed = nil, true
	}
}

// run calls f with contents, in order, until it returns false.
func (d *Dictionary) run(first, count uint64, f func([]byte) bool) error {
	if d.Lenient && (first >= d.next || count > d.next-first) {
		d.Missing = true
		if first >= d.next {
			return nil
		}
		count = d.next - first
	}
	if count == 0 || first >= d.next || count > d.next-first {
		return fmt.Errorf("contents %d to %d are not there", first, first+count-1)
	}
	i := sort.Search(len(d.Spans), func(i int) bool { return d.Spans[i].First > first }) - 1
	for ; count > 0; i++ {
		s := &d.Spans[i]
		if s.lost {
			d.Missing = true
			n := min(count, s.First+s.Count-first)
			first, count = first+n, count-n
			continue
		}
		if s.contents == nil {
			if err := d.load(s); err != nil {
				return err
			}
		}
		if s.used != d.uses {
			s.used = d.uses
			d.needs += s.bytes
		}
		from := first - s.First
		n := min(count, s.Count-from)
		for _, c := range s.contents[from : from+n] {
			if !f(c) {
				return nil
			}
		}
		first, count = first+n, count-n
	}
	return nil
}

func (d *Dictionary) load(s *Span) error {
	if d.Fetch == nil {
		return fmt.Errorf("contents %d to %d were passed over", s.First, s.First+s.Count-1)
	}
	contents, err := d.Fetch(s.At)
	if err != nil {
		return err
	}
	err = d.Fill(s, contents)
	s.used = 0 // so that it is counted to what the message needs
	if err == nil && s.shed {
		d.again += s.bytes
	}
	return err
}

// Definitions copies what the entries of a block define.
func Definitions(block []byte) ([][]byte, error) {
	var refs [][]byte
	total := 0
	for len(block) > 0 {
		entry, n := protowire.ConsumeBytes(block)
		if n < 0 {
			return nil, errors.New("an entry is longer than its block")
		}
		block = block[n:]
		f := protoscan.Of(entry)
		for f.Next() {
			if f.Num != FieldContent {
				continue
			}
			if len(f.Body) < MinContent || total+len(f.Body) > EpochBytes || len(refs) == MaxContents {
				return nil, errors.New("a content is not one that is written")
			}
			refs = append(refs, f.Body)
			total += len(f.Body)
		}
		if f.Err != "" {
			return nil, errWire
		}
	}
	for i, c := range refs {
		refs[i] = bytes.Clone(c) // each on its own: who keeps one keeps no others
	}
	return refs, nil
}
