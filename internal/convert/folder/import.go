package folder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Imported says what a recording was made of.
type Imported struct {
	Entries, Messages, Masked uint64
	Edited, Added             uint64 // entries that are not what they were, or that are new
	Deleted, Moved            uint64
	// Lossy are files that were edited, and whose original said something that
	// cannot be written as text: it is lost. Unused are files that no entry refers to.
	Lossy, Unused []string
	Bytes         int64
}

// changed says whether anything was edited.
func (i *Imported) changed() bool { return i.Edited+i.Added+i.Deleted+i.Moved > 0 }

// Options say how a recording is made.
type Options struct {
	Labels func(*session.Entry) []string
	// Progress is told how much of session.yaml was read, nil: nobody is.
	Progress func(read int64, entries uint64)
}

// Import makes a recording at path of a folder. An *Error says all that is wrong
// with it; no recording is written then. The folder is read twice.
func Import(ctx context.Context, dir, path string, o Options) (Imported, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Imported{}, err
	}
	defer root.Close()
	name := filepath.Join(dir, originalFile)
	for _, part := range []string{originalFile, sessionFile} {
		if info, err := root.Lstat(part); err != nil || !info.Mode().IsRegular() {
			return Imported{}, fmt.Errorf("%s is no folder that xdsproxy export -o dir has written: there is no file %s in it", dir, part)
		}
	}
	facts, err := recorder.Inspect(name)
	if err != nil {
		return Imported{}, err
	}
	wrong := new(faults)
	im := &importer{
		ctx: ctx, root: root, o: o, facts: facts, faults: wrong, entries: &original{path: name},
		contents: &contents{root: root, original: &original{path: name}, faults: wrong},
	}
	defer im.entries.close()
	defer im.contents.original.close()
	if err := im.contents.find(ctx); err != nil {
		return Imported{}, err
	}
	if err := im.pass(); err != nil {
		return Imported{}, err
	}
	if err := wrong.err(); err != nil {
		return Imported{}, err
	}
	return im.write(path)
}

// maxMessage bounds a message that is put together of files, in bytes: one file may
// be in it many times.
const maxMessage = 64 << 20

// importer goes over session.yaml, once to see what is wrong, and once to write.
type importer struct {
	ctx      context.Context
	root     *os.Root
	o        Options
	facts    recorder.Facts
	faults   *faults
	entries  *original
	contents *contents

	to    *recorder.Copy // nil in the first pass
	done  Imported
	seen  map[session.Seq]bool
	last  session.Entry               // that was written
	moved map[session.Seq]session.Seq // entries whose number is another one
	notes []session.Note
}

// write is the second pass.
func (im *importer) write(path string) (Imported, error) {
	of := im.facts
	of.Masked = of.Masked && !im.done.changed() // what somebody typed is not masked
	to, err := recorder.NewCopy(path, of, recorder.Options{Labels: im.o.Labels, Transform: chunk.NewSplitter().Transform})
	if err != nil {
		return Imported{}, err
	}
	im.to = to
	if err = im.pass(); err == nil {
		err = im.faults.err()
	}
	if err == nil {
		err = im.tell()
	}
	if err != nil {
		_ = to.Discard()
		return Imported{}, err
	}
	im.done.Masked = to.Masked()
	im.done.Lossy, im.done.Unused = im.contents.lossy, im.contents.unused()
	im.done.Bytes, err = to.Close()
	return im.done, err
}

// pass goes over all documents.
func (im *importer) pass() error {
	f, err := openRegular(im.root, sessionFile)
	if err != nil {
		return err
	}
	defer f.Close()
	im.done, im.seen, im.moved, im.notes, im.last = Imported{}, map[session.Seq]bool{}, map[session.Seq]session.Seq{}, nil, session.Entry{}
	in, doc := newDocuments(f), new(yamlDocument)
	for {
		err := in.next(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = im.ctx.Err()
		}
		if err == nil && (doc.more || len(bytes.TrimSpace(doc.text)) > 0) {
			err = im.document(doc)
		}
		if err != nil {
			return err
		}
		if im.o.Progress != nil {
			im.o.Progress(in.read, im.done.Entries)
		}
	}
	switch {
	case im.done.Entries == 0 && im.facts.Entries > 0:
		im.faults.add(sessionFile, 0, 0, "there is no entry in it; there were %d", im.facts.Entries)
	case doc.as != "" && !doc.same && !in.ended:
		im.faults.add(sessionFile, doc.line, 0, "the last entry may be cut off: the line %s is missing behind it; write it there if the entry is whole", lenient.Quoted(endMark))
	}
	if n := uint64(len(im.seen)); im.facts.Entries > n {
		im.done.Deleted = im.facts.Entries - n
	}
	return nil
}

// document takes one entry.
func (im *importer) document(doc *yamlDocument) error {
	edited := im.editedFiles(doc)
	if doc.same && len(edited) == 0 {
		for _, ref := range doc.refs {
			if file := im.contents.files[ref]; file != nil {
				file.used = true
			}
		}
		return im.untouched(doc)
	}
	e, err := im.parse(doc)
	if err != nil {
		return err
	}
	was := false
	if e.Seq != 0 && !im.seen[e.Seq] {
		if _, was, err = im.entries.entry(im.ctx, e.Seq); err != nil {
			return err
		}
	}
	if was {
		im.seen[e.Seq] = true
		im.done.Edited++
	} else {
		im.done.Added++
	}
	return im.add(&e, editedText(edited, !doc.same))
}

// editedFiles are those that an unedited document refers to and that are not what
// they were.
func (im *importer) editedFiles(doc *yamlDocument) (out []string) {
	for _, ref := range doc.refs {
		if file := im.contents.files[ref]; (file == nil || !file.same) && !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// untouched takes an entry of the original as it is.
func (im *importer) untouched(doc *yamlDocument) error {
	line, _, _ := bytes.Cut(doc.text, []byte("\n"))
	number, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("seq: "))
	seq, err := strconv.ParseUint(string(number), 10, 62)
	if !is || err != nil {
		im.faults.add(sessionFile, doc.line, 0, "the number of the entry is missing")
		return nil
	}
	e := session.Entry{Seq: session.Seq(seq)}
	if im.to != nil {
		var there bool
		if e, there, err = im.entries.entry(im.ctx, e.Seq); err != nil {
			return err
		}
		if !there {
			im.faults.add(sessionFile, doc.line, 0, "the entry %d is not in %s", seq, originalFile)
			return nil
		}
	}
	if im.seen[e.Seq] {
		im.done.Added++ // a copy
	}
	im.seen[e.Seq] = true
	return im.add(&e, "")
}

// parse reads an entry from its text.
func (im *importer) parse(doc *yamlDocument) (e session.Entry, err error) {
	if doc.more {
		im.faults.add(sessionFile, doc.line, 0, "an entry of more than %d MiB, which is too much to be edited", maxText>>20)
		return e, nil
	}
	p := parser{
		wrong: func(line, col int, format string, args ...any) {
			im.faults.add(sessionFile, doc.line+max(line, 1)-1, col, format, args...)
		},
	}
	size := 0
	p.file = func(name string, line, col int) []byte {
		if err != nil || size > maxMessage {
			return nil // which was said
		}
		raw, failed := im.contents.raw(im.ctx, name, func() {
			p.wrong(line, col, "there is no file %s", lenient.Quoted(name))
		})
		if err = cmp.Or(failed, im.ctx.Err()); err != nil {
			return nil
		}
		if size += len(raw); size > maxMessage {
			p.wrong(line, col, "a message of more than %d MiB, which is too much to be edited", maxMessage>>20)
			return nil
		}
		return raw
	}
	p.twice = func(seq session.Seq, kind decode.Kind) map[string]bool {
		was, there, failed := im.entries.entry(im.ctx, seq)
		if failed != nil || !there || was.Message == nil {
			return nil // and it is said where it is read next
		}
		return repeated(kind, was.Message.Data.Bytes())
	}
	e = p.entry(doc.text)
	return e, err
}

// add writes an entry. Entries keep their numbers unless they stand before a
// smaller one; then those that follow are counted up. Where something was edited,
// times do not run backwards.
func (im *importer) add(e *session.Entry, edited string) error {
	own := e.Seq
	if e.Seq <= im.last.Seq {
		e.Seq = im.last.Seq + 1
		if own != 0 {
			im.moved[own] = e.Seq
			im.done.Moved++
		}
	}
	im.done.Entries++
	if e.Message != nil {
		im.done.Messages++
	}
	if edited != "" {
		im.notes = append(im.notes, session.Note{Code: session.NoteRemark, Text: edited, About: e.Seq})
	}
	if im.to == nil {
		im.last.Seq = e.Seq
		return nil
	}
	if im.done.changed() && e.Time.Before(im.last.Time) {
		e.Time = im.last.Time
	}
	if edited != "" && e.Time.IsZero() {
		e.Time = time.Unix(0, 0) // there was none before
	}
	if by := e.Seq - own; own != 0 && by != 0 {
		if g := e.Gap; g != nil {
			moved := *g
			moved.First, moved.Last = g.First+by, g.Last+by
			e.Gap = &moved
		}
	}
	if n := e.Note; n != nil && im.moved[n.About] != 0 {
		about := *n
		about.About = im.moved[n.About]
		e.Note = &about
	}
	im.last.Seq, im.last.Time = e.Seq, e.Time
	return im.to.Add(e)
}

// tell writes what was edited beside the entries: remarks, as a person writes them.
func (im *importer) tell() error {
	if !im.done.changed() {
		return nil
	}
	im.notes = append(im.notes, session.Note{Code: session.NoteRemark, Text: fmt.Sprintf(
		"edited by hand: %d entries, and %d added, %d deleted, %d moved", im.done.Edited, im.done.Added, im.done.Deleted, im.done.Moved)})
	at := im.last.Time
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	for i := range im.notes {
		im.last.Seq++
		if err := im.to.Add(&session.Entry{Seq: im.last.Seq, Time: at, Side: session.Proxy, Kind: session.KindNote, Note: &im.notes[i]}); err != nil {
			return err
		}
	}
	return nil
}
