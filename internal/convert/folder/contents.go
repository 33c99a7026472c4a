package folder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxFiles  = 1 << 20
	maxValues = 2 << 20  // in a text of YAML
	maxKept   = 64 << 20 // bytes of contents that are kept
)

// origin is the comment that a file begins with: the hash of the rest, and where
// the content is in the original.
type origin struct {
	sum   string
	seq   session.Seq
	index int
	delta bool
}

const (
	originForm  = "# %s entry %d, resource %d\n"
	originDelta = "# %s entry %d, delta resource %d\n"
)

func (o origin) comment() string {
	if o.delta {
		return fmt.Sprintf(originDelta, o.sum, o.seq, o.index)
	}
	return fmt.Sprintf(originForm, o.sum, o.seq, o.index)
}

func readOrigin(line []byte) (o origin, ok bool) {
	text := string(bytes.TrimRight(line, "\r\n")) + "\n"
	for _, form := range []string{originForm, originDelta} {
		o.delta = form == originDelta
		if n, _ := fmt.Sscanf(text, form, &o.sum, &o.seq, &o.index); n == 3 && len(o.sum) == sumLen {
			return o, true
		}
	}
	return origin{}, false
}

// contents are the files of resources.
type contents struct {
	root     *os.Root
	original *original
	files    map[string]*content
	kept     int // bytes
	faults   *faults
	lossy    []string // files of which not everything can be written as text
}

// content is a file.
type content struct {
	from   origin // zero: it was not there
	same   bool   // it was not edited
	raw    []byte // the Any, if it is kept
	bad    bool   // it cannot be encoded, which was said
	looked bool   // whether the text says all of the original
	used   bool   // an entry refers to it
}

// find looks for all files.
func (c *contents) find(ctx context.Context) error {
	c.files = map[string]*content{}
	err := fs.WalkDir(c.root.FS(), resourcesDir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() || entry.Name()[0] == '.' || strings.HasSuffix(name, "~"): // of an editor
			return nil
		case !entry.Type().IsRegular():
			c.faults.add(name, 0, 0, "not a regular file")
			return nil
		case len(c.files) >= maxFiles:
			return fmt.Errorf("more than %d files", maxFiles)
		}
		file, err := c.look(name)
		if err == nil {
			c.files[name] = file
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a session without resources
	}
	return err
}

// look says whether a file was edited.
func (c *contents) look(name string) (*content, error) {
	f, err := openRegular(c.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 4<<10)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return &content{}, nil
	}
	file := &content{}
	var ok bool
	if file.from, ok = readOrigin(line); !ok {
		return file, nil
	}
	h := newHasher()
	if _, err := io.Copy(h, in); err != nil {
		return nil, err
	}
	file.same = h.sum() == file.from.sum
	return file, nil
}

// openRegular opens a file in the folder that is a file, and no link to one.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return root.Open(name)
}

// raw is the Any of a file, nil if there is none: of the original if the file is as
// it was, else of its text.
func (c *contents) raw(ctx context.Context, name string, missing func()) ([]byte, error) {
	file := c.files[name]
	if file == nil {
		missing()
		return nil, nil
	}
	file.used = true
	if file.raw != nil || file.bad {
		return file.raw, nil
	}
	var raw []byte
	var err error
	if file.same {
		raw, err = c.original.raw(ctx, file.from)
	}
	if err == nil && raw == nil {
		raw, err = c.encode(ctx, name, file)
	}
	if err != nil || raw == nil {
		return nil, err
	}
	if c.kept += len(raw); c.kept > maxKept {
		for _, other := range c.files {
			other.raw = nil
		}
		c.kept = len(raw)
	}
	file.raw = bytes.Clone(raw)
	return file.raw, nil
}

// encode makes the Any of what a file says.
func (c *contents) encode(ctx context.Context, name string, file *content) ([]byte, error) {
	f, err := openRegular(c.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, err
	}
	raw, wrong := anyOf(text)
	if file.bad = len(wrong) > 0; file.bad {
		for _, w := range wrong {
			c.faults.add(name, w.Line, w.Col, "%s", w.Message)
		}
		return nil, nil
	}
	if file.from.sum != "" && !file.looked {
		file.looked = true
		was, err := c.original.raw(ctx, file.from)
		if err != nil {
			return nil, err
		}
		if was != nil && lossy(was) {
			c.lossy = append(c.lossy, name)
		}
	}
	return raw, nil
}

// anyOf is the Any that a text stands for.
func anyOf(text []byte) ([]byte, []*lenient.Fault) {
	if len(text) > maxText {
		return nil, []*lenient.Fault{{Message: fmt.Sprintf("larger than %d MiB, which is too much to be edited", maxText>>20)}}
	}
	root, more, err := lenient.YAMLTree(text, maxValues)
	if err == nil && more != nil {
		err = more
	}
	if err != nil {
		return nil, []*lenient.Fault{err}
	}
	var of anypb.Any
	if wrong := (lenient.Exact{Types: protoregistry.GlobalTypes}).Into(&of, root); len(wrong) > 0 {
		return nil, wrong
	}
	raw, cannot := proto.MarshalOptions{Deterministic: true}.Marshal(&of)
	if cannot != nil {
		return nil, []*lenient.Fault{{Line: root.Line, Message: "it cannot be written as protobuf"}}
	}
	return append([]byte{}, raw...), nil
}

// unused are the files that make no difference.
func (c *contents) unused() (out []string) {
	for name, file := range c.files {
		if !file.used {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// lossy says whether a content, written as text and read again, is another one.
func lossy(raw []byte) bool {
	root := document.Kept(anyName, raw).Root
	again, wrong := anyOf(yamlOf(&root))
	return len(wrong) > 0 || contentHash(again) != contentHash(raw)
}

func contentHash(raw []byte) [16]byte {
	var of anypb.Any
	if proto.Unmarshal(raw, &of) != nil {
		return [16]byte{}
	}
	return inspect.New(nil).Inspect(of.GetTypeUrl(), of.GetValue(), true).Hash
}
