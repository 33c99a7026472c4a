package folder

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Export is a folder that is being written. It is used by one goroutine.
type Export struct {
	dir      string
	made     bool // the folder was not there before
	original *recorder.Copy
	session  *os.File
	out      *bufio.Writer
	streams  *decode.Streams
	names    *names
	files    map[[sha256.Size]byte]string // where a content is, by its bytes and by its text
	dirs     map[string]bool              // that are there
	done     Exported
	err      error
}

// Exported counts what was written.
type Exported struct {
	Entries, Messages, Masked, Files uint64
}

// intro begins session.yaml.
const intro = `# A session, entry by entry, as xdsproxy export wrote it. xdsproxy import makes a
# recording of it again: what is as it was keeps its bytes, what was edited is
# encoded from its text. The comments with hashes tell the two apart.
`

// NewExport begins a folder, which must not exist yet or be empty. of and o are
// those of recorder.NewCopy.
func NewExport(dir string, of recorder.Facts, o recorder.Options) (*Export, error) {
	x := &Export{dir: dir, streams: decode.NewStreams(), names: newNames(), files: map[[sha256.Size]byte]string{}, dirs: map[string]bool{}}
	err := os.Mkdir(dir, 0o700)
	if x.made = err == nil; !x.made {
		if there, unread := os.ReadDir(dir); unread != nil || len(there) > 0 {
			return nil, fmt.Errorf("cannot write the folder: %w", err)
		}
	}
	if x.original, err = recorder.NewCopy(filepath.Join(dir, originalFile), of, o); err != nil {
		x.remove()
		return nil, err
	}
	if x.session, err = x.create(sessionFile); err != nil {
		x.Discard()
		return nil, fmt.Errorf("cannot write the folder: %w", err)
	}
	x.out = bufio.NewWriterSize(x.session, 64<<10)
	_, x.err = x.out.WriteString(intro)
	return x, nil
}

func (x *Export) create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(x.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Add writes an entry, which must come after the one before.
func (x *Export) Add(e *session.Entry) error {
	if x.err == nil {
		x.err = x.original.Add(e)
	}
	if x.err != nil {
		return x.err
	}
	st, _ := x.streams.Step(e)
	tree := document.Tree{Kind: document.Object}
	f := writing(&tree)
	f.entry(e)
	if m := e.Message; m != nil {
		own := *m
		f.message(&own, st, e.Side, func(it item) string { return x.file(e.Seq, it) })
		x.done.Messages++
		if m.Masked {
			x.done.Masked++
		}
	}
	text := yamlOf(&tree)
	fmt.Fprintf(x.out, "--- # %s\n", sum(text))
	if _, err := x.out.Write(text); x.err == nil {
		x.err = err
	}
	x.done.Entries++
	return x.err
}

// yamlOf is a tree as text, without characters that do something to a screen.
func yamlOf(t *document.Tree) []byte {
	return []byte(render.SafeLines(string(document.Document{Root: *t}.YAML())))
}

// file is where a content is; it is written when it comes first. Contents that say
// the same are one: the order of a map is no news to a person.
func (x *Export) file(seq session.Seq, it item) string {
	inBytes := x.key(it, it.raw)
	if path, known := x.files[inBytes]; known {
		return path
	}
	root := document.Kept(anyName, it.raw).Root
	text := yamlOf(&root)
	inText := x.key(it, text)
	path, known := x.files[inText]
	if !known {
		typ := xds.TypeName(it.typ)
		path = x.names.next(typ[strings.LastIndexByte(typ, '.')+1:], it.name)
		x.files[inText] = path
		x.done.Files++
		if x.err == nil {
			x.err = x.write(path, append([]byte(origin{sum(text), seq, it.index, it.delta}.comment()), text...))
		}
	}
	x.files[inBytes] = path
	return path
}

func (x *Export) key(it item, content []byte) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00", it.typ, it.name)
	h.Write(content)
	h.Sum(key[:0])
	return key
}

const anyName = "google.protobuf.Any"

func (x *Export) write(path string, text []byte) error {
	if dir := filepath.Dir(path); !x.dirs[dir] {
		if err := os.MkdirAll(filepath.Join(x.dir, dir), 0o700); err != nil {
			return err
		}
		x.dirs[dir] = true
	}
	f, err := x.create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Close ends the folder. If that fails it is removed.
func (x *Export) Close() (Exported, error) {
	if x.err == nil {
		_, _ = x.out.WriteString(endMark + "\n") // Flush has the error
		x.err = x.out.Flush()
	}
	if x.err == nil {
		x.err = x.session.Close()
	}
	if x.err != nil {
		x.Discard()
		return Exported{}, fmt.Errorf("cannot write %s: %w", x.dir, x.err)
	}
	if _, err := x.original.Close(); err != nil {
		x.remove()
		return Exported{}, err
	}
	return x.done, nil
}

// Discard gives up, and removes what was written.
func (x *Export) Discard() {
	_ = x.original.Discard() // removed below
	if x.session != nil {
		_ = x.session.Close()
	}
	x.remove()
}

func (x *Export) remove() {
	if x.made {
		_ = os.RemoveAll(x.dir)
		return
	}
	for _, name := range []string{sessionFile, originalFile, resourcesDir} {
		_ = os.RemoveAll(filepath.Join(x.dir, name))
	}
}
