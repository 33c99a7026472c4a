package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// marks are what people marked, and wrote beside entries.
type marks struct {
	marked  map[session.Seq]struct{}
	remarks map[session.Seq]string
	changes uint64
}

const (
	maxMarks   = 1 << 16 // entries that are marked
	maxRemarks = 1 << 12 // entries with a remark
)

func newMarks() marks {
	return marks{make(map[session.Seq]struct{}), make(map[session.Seq]string), 0}
}

// Annotate takes a mark or a remark, as a note of the log has it. It is false if
// there are too many already; other notes it leaves alone.
func (x *Index) Annotate(n *session.Note) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.annotate(n)
}

func (x *Index) annotate(n *session.Note) bool {
	k := &x.marks
	if n == nil || n.About == 0 {
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
		text := strings.TrimSpace(cutText(n.Text))
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
