package chunk

import (
	"bytes"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// repeats knows the resources of the longer responses that were cut last. Most
// responses say what an earlier one of their type said, in the same order: where
// the bytes are the same, the resource ends where it ended then, and the chunk
// that was given then is given again. It is the same memory, so that who has
// looked at it once need not do so again.
type repeats struct {
	all []*repeated // that which was used last is last
	// at is what the response at hand is compared with, nil if with nothing;
	// place is what of it should come next.
	at            *repeated
	place         int
	chosen        bool
	found, missed int // resources of the response at hand; of the missed, those since one was found
	fresh         []int
	vain          int // responses since one was repeated
}

// repeated is the resources of a response and what is between them, in memory of
// their own.
type repeated struct {
	kind      decode.Kind
	typeURL   string // of the first
	resources session.Chunks
	between   session.Chunks
	held      int64 // bytes that are kept alive for them
}

const (
	// minRepeated is from how many bytes of resources on it is worth its while
	// to know a response again.
	minRepeated = 2 << 10
	// maxRepeated bounds what is held for all responses, in bytes, but for one
	// that is longer; that is at most maxOne. maxResponses is how many there are.
	maxRepeated, maxOne, maxResponses = 16 << 20, 32 << 20, 8
	// inVain is after how many responses of which nothing was repeated only one
	// of so many more is remembered: the order may be another each time.
	inVain = 16
	// strayed is by how many places a resource may be from where it should be.
	strayed = 8
	// repeatedBytes is what a resource takes beside its own bytes.
	repeatedBytes = 24
)

func (r *repeats) reset() {
	r.at, r.place, r.chosen, r.found, r.missed, r.fresh = nil, 0, false, 0, 0, r.fresh[:0]
}

// choose finds what a response of this kind may repeat, by its first resource.
func (r *repeats) choose(kind decode.Kind, first []byte) {
	r.chosen = true
	typeURL := resourceType(kind, first)
	for _, have := range slices.Backward(r.all) {
		if have.kind != kind || have.typeURL != typeURL {
			continue
		}
		if r.at == nil {
			r.at = have
		}
		if string(have.resources[0]) == string(first) {
			r.at = have
			return
		}
	}
}

// next is the resource that b begins with, as it was given before; nil if it is
// not found near its place.
func (r *repeats) next(b []byte) []byte {
	if r.at == nil {
		return nil
	}
	// Where hardly anything is as it was, not much is spent on looking.
	if n := len(r.fresh); n > 8*strayed && n%(4*strayed) != 0 && 8*r.found < n {
		return nil
	}
	all := r.at.resources
	if r.place < len(all) && begins(b, all[r.place]) {
		return r.take(r.place)
	}
	if r.missed > 4*strayed && r.missed%strayed != 0 {
		return nil
	}
	for i := max(r.place-strayed, 0); i < min(r.place+strayed, len(all)); i++ {
		if begins(b, all[i]) {
			return r.take(i)
		}
	}
	return nil
}

func begins(b, with []byte) bool { return len(with) <= len(b) && string(b[:len(with)]) == string(with) }

func (r *repeats) take(i int) []byte {
	r.place, r.missed = i+1, 0
	r.found++
	return r.at.resources[i]
}

// miss notes that chunk i is a resource that was not found: one that changed, it
// is assumed, in its place.
func (r *repeats) miss(i int) {
	r.place++
	r.missed++
	r.fresh = append(r.fresh, i)
}

// keep remembers a response that was cut into chunks, all of which are resources
// but for those between. Resources that are new it replaces by copies: what is
// around them on the way from the socket is not to be kept alive. It returns
// false where the response is not remembered.
func (r *repeats) keep(kind decode.Kind, chunks session.Chunks, between []int) bool {
	at, n := r.at, r.found+len(r.fresh)
	if at != nil && len(r.fresh) == 0 && r.place == n && len(at.resources) == n {
		r.vain = 0
		at.keepBetween(chunks, between)
		r.used(at)
		return true
	}
	all := chunks.Len()
	size := all // of the resources
	for _, i := range between {
		size -= int64(len(chunks[i]))
	}
	if size < minRepeated || size+all+int64(len(chunks))*repeatedBytes > maxOne {
		return false
	}
	if r.vain++; at != nil && 2*r.found >= n {
		r.vain = 0
	} else if at = nil; r.vain > inVain && r.vain%inVain != 0 {
		return false // it says something else, as all did of late
	}
	var news int64
	for _, i := range r.fresh {
		news += int64(len(chunks[i]))
	}
	if at == nil {
		at = &repeated{kind: kind}
		r.all = append(r.all, at)
		news = size
	} else if at.held+news > 2*size { // let go what is gone from it
		at.held, news = 0, size
	}
	if news == size {
		r.fresh = everyBut(r.fresh[:0], len(chunks), between)
	}
	copyChunks(chunks, r.fresh, news)
	clear(at.resources)
	at.resources = at.resources[:0]
	from := 0
	for _, i := range between {
		at.resources = append(at.resources, chunks[from:i]...)
		from = i + 1
	}
	at.resources = append(at.resources, chunks[from:]...)
	at.typeURL = resourceType(kind, at.resources[0])
	at.held += news
	at.keepBetween(chunks, between)
	r.used(at)
	r.bound()
	return true
}

// keepBetween replaces what is between the resources by what it was before, or
// by a copy.
func (a *repeated) keepBetween(chunks session.Chunks, between []int) {
	if len(between) < len(a.between) {
		clear(a.between[len(between):])
		a.between = a.between[:len(between)]
	}
	for k, i := range between {
		if k == len(a.between) {
			a.between = append(a.between, nil)
		}
		if !bytes.Equal(a.between[k], chunks[i]) {
			a.between[k] = bytes.Clone(chunks[i])
		}
		chunks[i] = a.between[k]
	}
}

// everyBut appends the numbers below n that are not in between, which ascends.
func everyBut(which []int, n int, between []int) []int {
	for i := range n {
		if len(between) > 0 && between[0] == i {
			between = between[1:]
			continue
		}
		which = append(which, i)
	}
	return which
}

// copyChunks replaces some chunks, of so many bytes in all, by copies in memory
// that they share.
func copyChunks(chunks session.Chunks, which []int, bytes int64) {
	const block = 256 << 10
	var room []byte
	for _, i := range which {
		c := chunks[i]
		if len(c) > cap(room)-len(room) {
			room = make([]byte, 0, max(min(bytes, block), int64(len(c))))
		}
		at := len(room)
		room = append(room, c...)
		chunks[i] = room[at:len(room):len(room)]
		bytes -= int64(len(c))
	}
}

// used says that a response was the last to be repeated.
func (r *repeats) used(at *repeated) {
	if i := slices.Index(r.all, at); i < len(r.all)-1 {
		r.all = append(slices.Delete(r.all, i, i+1), at)
	}
}

// bound forgets what was not used for longest.
func (r *repeats) bound() {
	sum, from := int64(0), len(r.all)
	for from > 0 && len(r.all)-from < maxResponses {
		sum += r.all[from-1].cost()
		if sum > maxRepeated && from < len(r.all) {
			break
		}
		from--
	}
	r.all = slices.Delete(r.all, 0, from)
}

func (a *repeated) cost() int64 {
	return a.held + a.between.Len() + int64(cap(a.resources)+cap(a.between))*repeatedBytes
}

// resourceType is the type of a resource as it stands in a response.
func resourceType(kind decode.Kind, field []byte) string {
	m := decode.Message{Kind: kind}
	if m.Read(field); len(m.Resources) == 0 {
		return ""
	}
	return m.Resources[0].TypeURL
}
