// Package marks keeps what a person marks on the screen and writes beside entries:
// in the log, where it is ours to write, else in the file of notes beside it, else
// on the screen alone. It draws nothing.
package marks

import (
	"fmt"
	"sync"

	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// Keeper keeps marks and notes. Save may be called beside its other methods.
type Keeper struct {
	index *index.Index
	log   func(session.Note) // nil: the log is not ours
	file  *notes.File        // nil: there is nowhere a file could be

	mu      sync.Mutex
	trouble error                // why the file is not written
	alone   map[session.Seq]bool // entries with something that only the screen has, unless the file gets it
	told    bool                 // that the screen alone keeps them
}

// New is a keeper for the log that an index is of; log and file may be nil.
func New(x *index.Index, log func(session.Note), file *notes.File) *Keeper {
	return &Keeper{index: x, log: log, file: file, alone: make(map[session.Seq]bool)}
}

// Load shows what the file has, before the log is read. It returns what there is
// to say of it, "" if all is well.
func (k *Keeper) Load() string {
	if k.file == nil || k.log != nil {
		return ""
	}
	had, err := k.file.Read()
	if err != nil {
		k.trouble = err
		return err.Error() + "; what you mark stays on this screen"
	}
	full := false
	for seq, n := range had.Entries {
		code := session.NoteUnmark
		if n.Marked {
			code = session.NoteMark
		}
		full = !k.index.Annotate(&session.Note{Code: code, About: seq}) || full
		full = !k.index.Annotate(&session.Note{Code: session.NoteRemark, Text: n.Text, About: seq}) || full
	}
	switch {
	case full:
		return "there are more marks and notes beside the recording than are shown"
	case len(had.Odd) > 0:
		return fmt.Sprintf("of the notes beside the recording, %s no sense, the first is line %d", render.Count(len(had.Odd), "line makes", "lines make"), had.Odd[0])
	}
	return ""
}

// Keep keeps a mark or a remark: on the screen at once, and in the log if that can
// be written. It is false if there are too many.
func (k *Keeper) Keep(n session.Note) bool {
	if !k.index.Annotate(&n) {
		return false
	}
	if k.log != nil {
		k.log(n)
		return true
	}
	if k.file == nil {
		k.alone[n.About] = true
		return true
	}
	k.file.Set(n.About, notes.Note{Marked: k.index.Marked(n.About), Text: k.index.Remark(n.About)})
	return true
}

// Save writes what the file does not have yet. It says why that fails once.
func (k *Keeper) Save() error {
	if k.file == nil || k.file.Unsaved() == 0 {
		return nil
	}
	err := k.file.Save()
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.trouble
	if k.trouble = err; err == nil || before != nil {
		return nil
	}
	k.told = true
	return fmt.Errorf("marks and notes stay on this screen: %w", err)
}

// Alone is on how many entries there is something that goes with the screen, and
// why.
func (k *Keeper) Alone() (n int, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.file == nil:
		return len(k.alone), "this log is not ours to write"
	case k.trouble == nil: // it is being written
		return 0, ""
	}
	return k.file.Unsaved(), k.trouble.Error()
}

// Aside is what is to be said, once, of marks that go with the screen.
func (k *Keeper) Aside() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.log != nil || k.file != nil && k.trouble == nil || k.told {
		return ""
	}
	k.told = true
	return " (only until you leave)"
}
