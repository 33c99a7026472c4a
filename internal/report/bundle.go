package report

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/convert/page"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// UsualLimit is what most trackers take, in bytes.
const UsualLimit = 25 << 20

// MostWay is how many bytes the recording in a zip may have so that it can be
// played, where fewer would prove the same.
const MostWay = 8 << 20

// Options say what goes into a zip.
type Options struct {
	Program string // that writes it, with its version
	Facts   recorder.Facts
	Proof   convert.Proof
	Chosen  string // how the entries were chosen, in words, if there are no findings
	Dump    []byte // a config_dump of the client, masked; nil if there is none
	Cut     convert.CutOptions
}

// Bundle is what will be in a zip, in a directory that is removed by Close.
type Bundle struct {
	Done   convert.Result
	Extent convert.Extent
	Survey *Survey
	Seqs   []session.Seq // of messages too large for the report

	dir   string
	files []string
}

// Gather makes the files of a zip, in a directory that only this user can read.
// The walk visits the session and chooses nothing; it is done several times. A
// Bundle without files says that nothing was chosen.
func Gather(ctx context.Context, walk convert.Walk, o *Options) (_ *Bundle, err error) {
	b := &Bundle{Survey: NewSurvey()}
	if b.dir, err = os.MkdirTemp("", "xdsproxy-report-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = b.Close()
		}
	}()
	recording := filepath.Join(b.dir, recordingFile)
	if b.Done, b.Extent, err = convert.Prove(ctx, recording, o.Facts, walk, &o.Proof, o.Cut); err != nil || b.Done.Entries == 0 {
		return b, err
	}
	b.files = append(b.files, recordingFile)
	part := &part{ctx: ctx, path: recording, judge: o.Proof.Judge}
	way, missing := &course{}, slices.Clone(o.Proof.Seqs)
	if err := part.walk(func(e *session.Entry, c *check.Change, _ bool) error {
		b.Survey.See(e, c)
		way.see(e, c)
		missing = slices.DeleteFunc(missing, func(seq session.Seq) bool { return seq == e.Seq && e.Gap == nil })
		return nil
	}); err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("there is no entry %d", missing[0])
	}
	b.Survey.Dump(o.Dump)
	var text bytes.Buffer
	told := convert.Report{
		Program: o.Program, Source: recordingFile, Facts: part.facts, Chosen: o.Chosen, Attached: true,
		Findings: func() []check.Finding { return o.Proof.Among(part.checker.Findings()) },
	}
	done, err := convert.Write(&text, convert.Markdown, part.walk, convert.Options{Report: told})
	if err != nil {
		return nil, err
	}
	var shown bytes.Buffer
	if _, err := page.Write(&shown, part.walk, page.Options{Report: told}); err != nil {
		return nil, err
	}
	b.Seqs = done.Large
	found := render.NewReport()
	found.Add("", part.checker.Findings(), part.checker.Summary())
	var findings bytes.Buffer
	if err := render.WriteJSON(&findings, found); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{
		{markdownFile, text.Bytes()},
		{convert.PageFile, shown.Bytes()},
		{findingsFile, findings.Bytes()},
		{convert.ReproduceFile, []byte(reproduce(way, o.Proof.Findings, o.Program))},
		{readableFile, []byte(b.Survey.Text(0))},
		{dumpFile, o.Dump},
	} {
		if f.text == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(b.dir, f.name), f.text, 0o600); err != nil {
			return nil, err
		}
		b.files = append(b.files, f.name)
	}
	return b, nil
}

// Close removes what was gathered.
func (b *Bundle) Close() error { return os.RemoveAll(b.dir) }

// Write writes the zip. A file that exists is not overwritten. It returns the
// number of bytes.
func (b *Bundle) Write(path string) (_ int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(path)
		}
	}()
	z := zip.NewWriter(f)
	for _, name := range b.files {
		if err := b.add(z, name); err != nil {
			return 0, err
		}
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	return f.Seek(0, io.SeekCurrent)
}

func (b *Bundle) add(z *zip.Writer, name string) error {
	in, err := os.Open(filepath.Join(b.dir, name))
	if err != nil {
		return err
	}
	defer in.Close()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()}
	if name == recordingFile {
		h.Method = zip.Store // its blocks are compressed
	}
	h.SetMode(0o600)
	out, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// part walks over the recording in the zip.
type part struct {
	ctx     context.Context
	path    string
	judge   check.Options
	checker *check.Checker // of the last walk
	facts   recorder.Facts
}

func (p *part) walk(visit convert.Visit) error {
	r, err := recorder.Open(p.path)
	if err != nil {
		return err
	}
	defer r.Close()
	p.checker, p.facts = check.NewChecker(p.judge), r.Facts()
	for e, err := range r.Entries(p.ctx) {
		if err != nil {
			return err
		}
		c := p.checker.Step(&e)
		if err := visit(&e, &c, true); err != nil {
			return err
		}
	}
	return nil
}
