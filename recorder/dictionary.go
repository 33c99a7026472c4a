package recorder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// dictionary is what a reader knows of the contents of one epoch: which block
// defines which, and those that it has met or needed. An epoch bounds it; where
// a block can be read again, keepContents does.
type dictionary struct {
	epoch uint64
	spans []span
	next  uint64 // the first id that no span has
	bytes int64  // of contents that are in memory
	uses  uint64 // messages that needed contents
	needs int64  // bytes of the spans that the last of them needed
	most  int64  // that one of the latest needed
	again int64  // bytes that were let go of and read again in this epoch
	// fetch reads the contents of a block that was jumped over; nil if that
	// cannot be done.
	fetch func(at int64) ([][]byte, error)

	// lenient makes it pass over contents that are not there, and say so in
	// missing, which its user resets.
	lenient, missing bool
	// pieces makes messages come in chunks, one for each content.
	pieces bool
	// cursor is the content that the next definition in the block defines;
	// none if some were passed over.
	cursor  uint64
	exact   bool
	scratch session.Chunks // of the messages that were read since it was emptied
	parts   []dataPart     // empty room for those of an entry
}

// span is the contents that one block defines.
type span struct {
	first, count uint64
	at           int64 // of the block
	contents     [][]byte
	used         uint64 // the last of the uses that needed one of them
	bytes        int64  // of contents
	shed         bool   // contents were let go of
	lost         bool
}

// keepContents is how many bytes of contents stay in memory of those that can be
// read again; more where a single message needs more.
const keepContents = 8 << 20

// maxAgain is how many bytes of contents are let go of and read again in an
// epoch before no more are let go of: their users come in an order that does not
// suit.
const maxAgain = epochBytes / 4

// begin makes room for the contents of a block, which comes next in the file.
func (d *dictionary) begin(h *blockHeader, at int64) error {
	switch {
	case h.epoch < d.epoch:
		return fmt.Errorf("epoch %d after epoch %d", h.epoch, d.epoch)
	case h.epoch > d.epoch:
		if h.content != 0 && !d.lenient {
			return fmt.Errorf("epoch %d begins with content %d", h.epoch, h.content)
		}
		d.reset(h.epoch)
	case h.content != d.next && !d.lenient:
		return fmt.Errorf("content %d where content %d must come", h.content, d.next)
	}
	if h.content > d.next {
		d.spans = append(d.spans, span{first: d.next, count: h.content - d.next, lost: true})
		d.next = h.content
	}
	if h.content != d.next {
		return fmt.Errorf("content %d again", h.content)
	}
	if h.contents > 0 {
		d.spans = append(d.spans, span{first: h.content, count: h.contents, at: at})
		d.next += h.contents
	}
	return nil
}

func (d *dictionary) reset(epoch uint64) {
	clear(d.spans)
	d.epoch, d.spans, d.next, d.bytes, d.again = epoch, d.spans[:0], 0, 0, 0
}

// jump makes it the dictionary of an epoch up to a block, of which the spans
// are known. It keeps what it has of them.
func (d *dictionary) jump(epoch uint64, spans []span) {
	if d.epoch == epoch {
		for i := range min(len(spans), len(d.spans)) {
			if spans[i].at == d.spans[i].at {
				spans[i] = d.spans[i]
			}
		}
	}
	d.epoch, d.spans, d.next, d.bytes, d.needs, d.missing, d.exact = epoch, spans, 0, 0, 0, false, false
	for _, s := range spans {
		d.next = s.first + s.count
		if s.contents != nil {
			d.bytes += s.bytes
		}
	}
}

// fill keeps the contents of the span that begins with id first.
func (d *dictionary) fill(s *span, contents [][]byte) error {
	if uint64(len(contents)) != s.count {
		return fmt.Errorf("a block defines %d contents, not the %d that its header announces", len(contents), s.count)
	}
	s.bytes = 0
	for _, c := range contents {
		s.bytes += int64(len(c))
	}
	if d.bytes += s.bytes; d.bytes > epochBytes {
		return errors.New("an epoch has more content than any that is written")
	}
	s.contents, s.used = contents, d.uses
	d.shed()
	return nil
}

// use begins a message.
func (d *dictionary) use() {
	d.most = max(d.most-d.most/64, d.needs)
	d.needs = 0
	d.uses++
}

// shed lets go of contents that were not used for longest. It does so no more in
// an epoch in which too much of that had to be read again.
func (d *dictionary) shed() {
	limit := max(keepContents, 2*max(d.most, d.needs))
	if d.fetch == nil || d.bytes <= limit || d.again > maxAgain {
		return
	}
	var held []*span
	for i := range d.spans {
		if s := &d.spans[i]; s.contents != nil && s.used < d.uses {
			held = append(held, s)
		}
	}
	slices.SortFunc(held, func(a, b *span) int { return cmp.Compare(a.used, b.used) })
	for _, s := range held {
		if d.bytes <= limit*3/4 {
			return
		}
		d.bytes -= s.bytes
		s.contents, s.shed = nil, true
	}
}

// run calls f with contents, in order, until it returns false.
func (d *dictionary) run(first, count uint64, f func([]byte) bool) error {
	if d.lenient && (first >= d.next || count > d.next-first) {
		d.missing = true
		if first >= d.next {
			return nil
		}
		count = d.next - first
	}
	if count == 0 || first >= d.next || count > d.next-first {
		return fmt.Errorf("contents %d to %d are not there", first, first+count-1)
	}
	i := sort.Search(len(d.spans), func(i int) bool { return d.spans[i].first > first }) - 1
	for ; count > 0; i++ {
		s := &d.spans[i]
		if s.lost {
			d.missing = true
			n := min(count, s.first+s.count-first)
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
		from := first - s.first
		n := min(count, s.count-from)
		for _, c := range s.contents[from : from+n] {
			if !f(c) {
				return nil
			}
		}
		first, count = first+n, count-n
	}
	return nil
}

func (d *dictionary) load(s *span) error {
	if d.fetch == nil {
		return fmt.Errorf("contents %d to %d were passed over", s.first, s.first+s.count-1)
	}
	contents, err := d.fetch(s.at)
	if err != nil {
		return err
	}
	err = d.fill(s, contents)
	s.used = 0 // so that it is counted to what the message needs
	if err == nil && s.shed {
		d.again += s.bytes
	}
	return err
}

// definitions copies what the entries of a block define.
func definitions(block []byte) ([][]byte, error) {
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
			if f.Num != fieldContent {
				continue
			}
			if len(f.Body) < minContent || total+len(f.Body) > epochBytes || len(refs) == maxContents {
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
