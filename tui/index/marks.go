package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/session"
)

// marks are what people marked, and wrote beside entries.
type marks struct {
	marked  map[session.Seq]struct{}
	remarks map[session.Seq]string
	// own are those that the log does not change any more: who looks has said
	// something about them.
	own     map[session.Seq]struct{}
	changes uint64
}

const (
	maxMarks   = 1 << 16 // entries that are marked
	maxRemarks = 1 << 12 // entries with a remark
	maxRemark  = 4 << 10 // bytes of one, and "…" where there were more
)

func newMarks() marks {
	return marks{make(map[session.Seq]struct{}), make(map[session.Seq]string), make(map[session.Seq]struct{}), 0}
}

// Annotate takes a mark or a remark of who looks, as a note of the log has it;
// what the log says of the entry later does not count. It is false if there are
// too many already; other notes it leaves alone.
func (x *Index) Annotate(n *session.Note) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.annotate(n) {
		return false
	}
	if len(x.marks.own) < maxMarks+maxRemarks {
		x.marks.own[n.About] = struct{}{}
	}
	return true
}

// annotateFrom takes a mark or a remark of the log.
func (x *Index) annotateFrom(n *session.Note) {
	if n == nil {
		return
	}
	if _, is := x.marks.own[n.About]; !is {
		x.annotate(n)
	}
}

func (x *Index) annotate(n *session.Note) bool {
	k := &x.marks
	if n.About == 0 {
		return true
	}
	switch n.Code {
	case session.NoteMark:
		if _, is := k.marked[n.About]; !is && len(k.marked) >= maxMarks {
			return false
		}
		k.marked[n.About] = struct{}{}
	case session.NoteUnmark:
		delete(k.marked, n.About)
	case session.NoteRemark:
		text := clip.Text(strings.TrimSpace(n.Text), maxRemark)
		if text == "" {
			delete(k.remarks, n.About)
			break
		}
		if k.remarks[n.About] == "" && len(k.remarks) >= maxRemarks {
			return false
		}
		k.remarks[n.About] = text
	default:
		return true
	}
	k.changes++
	x.generation.Add(1)
	return true
}

// Marked says whether an entry is marked.
func (x *Index) Marked(seq session.Seq) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.marked(seq)
}

func (x *Index) marked(seq session.Seq) bool {
	_, is := x.marks.marked[seq]
	return is
}

// Remark is what a person wrote beside an entry, "" if nothing.
func (x *Index) Remark(seq session.Seq) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.marks.remarks[seq]
}

// Marks are the entries that are marked, in order.
func (x *Index) Marks() []session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Sorted(maps.Keys(x.marks.marked))
}

// Markings grows with every change of a mark or a remark.
func (x *Index) Markings() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.marks.changes
}
