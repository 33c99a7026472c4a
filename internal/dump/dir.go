package dump

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/trigger"
)

// Names in a directory of dumps. What is called otherwise is not ours, and is
// neither counted nor deleted.
var (
	finished   = regexp.MustCompile(`^dump-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[a-z0-9-]+\.(xdsp|zip)$`)
	unfinished = regexp.MustCompile(`^\.dump-[0-9a-f]{16}\.tmp$`)
)

// abandoned is how old a file without its name must be to be one that nobody
// finishes any more.
const abandoned = 10 * time.Minute

// directory is where dumps go. Others may write theirs to the same one.
type directory struct {
	path string
	most int64 // bytes; 0: any number
}

// make makes the directory, unless it is there. Whoever clears dumps away may take
// it with them, at any time.
func (d *directory) make() error { return os.MkdirAll(d.path, 0o700) }

// open makes the directory and tries whether a file can be written into it. What
// was left there by who was killed goes first.
func (d *directory) open() error {
	if err := d.make(); err != nil {
		return err
	}
	if _, err := d.tidy(); err != nil {
		return err
	}
	f, err := os.OpenFile(d.temporary(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// temporary is the name of a file that is not finished.
func (d *directory) temporary() string {
	return filepath.Join(d.path, ".dump-"+random(8)+".tmp")
}

// finish gives a file its name, after it has made room for it.
func (d *directory) finish(temporary string, m *trigger.Moment, ending string) (path string, size int64, err error) {
	info, err := os.Lstat(temporary)
	if err != nil {
		return "", 0, err
	}
	if d.most > 0 && info.Size() > d.most {
		return "", 0, fmt.Errorf("it has %d bytes, and there may be %d in all", info.Size(), d.most)
	}
	if err := d.room(info.Size()); err != nil {
		return "", 0, err
	}
	path = filepath.Join(d.path, nameOf(m, ending))
	return path, info.Size(), os.Rename(temporary, path)
}

// tidy deletes what was never finished, and lists the dumps. Only files count that
// have a name of ours: no directory, and nothing that a link leads to.
func (d *directory) tidy() (dumps []fs.FileInfo, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		tmp := unfinished.MatchString(e.Name())
		if !e.Type().IsRegular() || !tmp && !finished.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		switch {
		case err != nil: // another proxy has deleted it
		case !tmp:
			dumps = append(dumps, info)
		case time.Since(info.ModTime()) > abandoned:
			_ = os.Remove(filepath.Join(d.path, e.Name()))
		}
	}
	return dumps, nil
}

// room deletes the oldest dumps until there is room for another one.
func (d *directory) room(size int64) error {
	dumps, err := d.tidy()
	if err != nil || d.most == 0 {
		return err
	}
	for _, f := range dumps {
		size += f.Size()
	}
	slices.SortFunc(dumps, func(a, b fs.FileInfo) int {
		if c := a.ModTime().Compare(b.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	for _, f := range dumps {
		if size <= d.most {
			break
		}
		if err := os.Remove(filepath.Join(d.path, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= f.Size()
	}
	return nil
}

// nameOf is the name of a dump. What peers have chosen is in it only as letters,
// digits and hyphens.
func nameOf(m *trigger.Moment, ending string) string {
	at := m.At.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		at = time.Time{}
	}
	what := "filter"
	if m.Rule {
		what = m.What
	}
	name := "dump-" + at.Format("20060102T150405.000Z") + "-" + word(what)
	if client := word(m.Client); client != "" {
		name += "-" + client
	}
	return name + "-" + random(3) + ending
}

// word is a text as it may be in the name of a file.
func word(s string) string {
	const most = 48
	var b strings.Builder
	for _, r := range strings.ToLower(s[:min(len(s), 4*most)]) {
		switch {
		case b.Len() >= most:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
