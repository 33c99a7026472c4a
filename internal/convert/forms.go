package convert

import (
	"errors"
	"fmt"
	"io"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Form names a form.
type Form string

// The forms. CSV, JSONL and YAML have one piece an entry; Mermaid is a sequence
// diagram, Markdown a report for a bug tracker, BinaryLog what gRPC writes of its
// calls.
const (
	CSV       Form = "csv"
	JSONL     Form = "jsonl"
	YAML      Form = "yaml"
	Mermaid   Form = "mermaid"
	Markdown  Form = "md"
	BinaryLog Form = "binarylog"
)

// Options say what a form may tell beside the entries.
type Options struct {
	Report Report // of Markdown
	// Beside is what a person left beside an entry, of JSONL and YAML; it may be nil.
	Beside func(session.Seq) (marked bool, text string)
}

// writer writes one form in one walk. It is shown every entry.
type writer struct {
	visit Visit
	end   func() error
}

// Write writes the chosen entries of a session in a form. Markdown walks
// several times, the others once. The walk may leave out entries that tell
// nothing of the chosen ones.
func Write(w io.Writer, form Form, walk Walk, o Options) (Result, error) {
	var out *writer
	var done Result
	switch form {
	case CSV:
		out = newCSV(w)
	case JSONL:
		out = newJSONL(w, o)
	case YAML:
		out = newYAML(w, o)
	case Mermaid:
		out = newMermaid(w, &done)
	case BinaryLog:
		out = newBinaryLog(w, &done)
	case Markdown:
		return writeReport(w, walk, o.Report)
	default:
		return Result{}, fmt.Errorf("there is no form %q", form)
	}
	err := walk(func(e *session.Entry, c *check.Change, chosen bool) error {
		if chosen {
			done.Entries++
			done.count(e)
		}
		return out.visit(e, c, chosen)
	})
	if err == nil {
		err = out.end()
	}
	return done, err
}

// newJSONL writes the objects of watch, one a line.
func newJSONL(w io.Writer, o Options) *writer {
	return &writer{
		visit: func(e *session.Entry, c *check.Change, chosen bool) error {
			if !chosen {
				return nil
			}
			object := render.NewObject(e, c)
			if o.Beside != nil {
				object.Marked, object.Remark = o.Beside(e.Seq)
			}
			line, err := object.Line()
			if err == nil {
				_, err = w.Write(line)
			}
			return err
		},
		end: func() error { return nil },
	}
}

// newBinaryLog writes what a server of gRPC would have logged.
func newBinaryLog(w io.Writer, done *Result) *writer {
	to := binlog.NewWriter(w)
	return &writer{
		visit: func(e *session.Entry, _ *check.Change, chosen bool) error {
			if !chosen && e.Kind != session.KindConnect && e.Kind != session.KindOpen { // without which no other has a place
				return nil
			}
			return to.Add(e)
		},
		end: func() error {
			if done.Lost = to.Lost(); to.Written == 0 && done.Entries > 0 {
				return errors.New("nothing of it is a call of gRPC: a binary log would be empty")
			}
			done.Entries = min(done.Entries, to.Written)
			return nil
		},
	}
}

// newYAML writes the documents of show.
func newYAML(w io.Writer, o Options) *writer {
	documents, first := render.NewDocuments(), true
	documents.Beside = o.Beside
	return &writer{
		visit: func(e *session.Entry, c *check.Change, chosen bool) error {
			documents.See(e)
			if !chosen {
				return nil
			}
			doc, err := documents.Document(e, c)
			if err != nil {
				return err
			}
			if !first {
				if _, err := io.WriteString(w, "---\n"); err != nil {
					return err
				}
			}
			first = false
			_, err = w.Write(doc.YAML())
			return err
		},
		end: func() error { return nil },
	}
}

// maxMermaid is how many steps a diagram has: more than those nobody draws.
const maxMermaid = 250

func newMermaid(w io.Writer, done *Result) *writer {
	ladder := render.NewLadder()
	return &writer{
		visit: func(e *session.Entry, c *check.Change, chosen bool) error {
			ladder.See(e, c)
			switch {
			case chosen && ladder.Len() < maxMermaid:
				ladder.Add(e, c)
			case chosen:
				done.Entries--
				done.LeftOut++
			}
			return nil
		},
		end: func() error {
			text := ladder.Mermaid()
			if done.LeftOut > 0 {
				text += fmt.Sprintf("    Note over P,S: %d entries more are left out\n", done.LeftOut)
			}
			_, err := io.WriteString(w, text)
			return err
		},
	}
}
