package engine

import (
	"encoding/json"

	"github.com/xdsproxy/xdsproxy/session"
)

// maxStatic bounds the text of the notes that name clusters of a bootstrap, of
// all in a recording, in bytes.
const maxStatic = 64 << 10

// static are the clusters that the recording itself says clients have.
type static struct {
	names []string
	size  int
	seqs  []session.Seq
}

// StaticNote makes a recording know which clusters its client has from its
// bootstrap: as many of them as a note holds; nil if there are none.
func StaticNote(names []string) *session.Note {
	text := []byte("[")
	for _, name := range names {
		one, _ := json.Marshal(name) // a string can always be encoded
		if len(text)+len(one)+len(",]") > maxStatic {
			break
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(text, one...)
	}
	if len(text) == 1 {
		return nil
	}
	return &session.Note{Code: session.NoteStatic, Text: string(append(text, ']'))}
}

func (s *static) note(e *session.Entry) {
	if !isStatic(e) || s.size+len(e.Note.Text) > maxStatic {
		return
	}
	var names []string
	if json.Unmarshal([]byte(e.Note.Text), &names) != nil || len(names) == 0 {
		return
	}
	s.names, s.seqs = append(s.names, names...), append(s.seqs, e.Seq)
	s.size += len(e.Note.Text)
}

func isStatic(e *session.Entry) bool {
	return e.Kind == session.KindNote && e.Note != nil && e.Note.Code == session.NoteStatic
}

// Static are the clusters that the recording says clients have from their
// bootstrap. Nobody may write to it.
func (k *Engine) Static() []string { return k.static.names }
