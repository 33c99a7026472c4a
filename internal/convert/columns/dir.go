package columns

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Options say how a directory is written. The zero value is fine.
type Options struct {
	// Since leaves out entries before it, and with them acks and connections that
	// were closed before.
	Since time.Time
	// KnownBytes is the memory for the hashes of contents that are there already;
	// 48 MiB if 0.
	KnownBytes int64
	// PartBytes is how many bytes of values a part has at most; 192 MiB if 0.
	PartBytes int64
	Program   string

	quick bool // nothing is brought to the disk: for tests
}

// Dir is a directory of tables that is being written. Export may be called by several
// goroutines at once.
type Dir struct {
	root string
	o    Options
	lock *os.File

	mu       sync.Mutex
	have     map[string]*there // by base
	contents contents
	pending  []*part // sealed, and not published yet
	waiting  int64   // bytes of them
	made     int
	err      error // after which nothing is published any more
}

// there is what is in the directory of a recording. It belongs to the export that holds
// busy, which changes spans with the mutex of the Dir: others read them with that.
type there struct {
	spans    []span // exported, ascending
	findings []string
	standing []string // paths of what is told of its end: open connections, clients

	busy    sync.Mutex
	sources []string // of those that were exported or wait for it, guarded by the mutex of the Dir
}

// BusyError says that another process writes the directory.
type BusyError struct{ Path string }

func (e *BusyError) Error() string { return fmt.Sprintf("another export writes to %q", e.Path) }

// ForeignError says that the directory has other things in it.
type ForeignError struct{ Path, Reason string }

func (e *ForeignError) Error() string { return fmt.Sprintf("cannot write to %q: %s", e.Path, e.Reason) }

// Open makes the directory ready, or goes on with what is there. What a run that was
// ended left of files is removed.
func Open(root string, o Options) (*Dir, error) {
	o.KnownBytes = cmp.Or(o.KnownBytes, 48<<20)
	o.PartBytes = cmp.Or(o.PartBytes, 192<<20)
	root = filepath.Clean(root)
	if err := ours(root); err != nil {
		return nil, err
	}
	beside := filepath.Join(root, incomplete)
	if err := os.MkdirAll(beside, 0o700); err != nil {
		return nil, unwritten(err)
	}
	f, err := os.OpenFile(filepath.Join(beside, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritten(err)
	}
	if !lock(f) {
		f.Close()
		return nil, &BusyError{root}
	}
	d := &Dir{root: root, o: o, lock: f, have: make(map[string]*there)}
	if err := d.ready(beside); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// ours says why a directory is none of tables.
func ours(root string) error {
	list, err := os.ReadDir(root)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return unwritten(err)
	}
	for _, e := range list {
		if e.Name() == incomplete || slices.Contains(Tables[:], e.Name()) {
			return nil
		}
	}
	if len(list) > 0 {
		return &ForeignError{root, "there are other files in it, and no tables"}
	}
	return nil
}

func (d *Dir) ready(beside string) error {
	left, err := os.ReadDir(beside)
	if err != nil {
		return unwritten(err)
	}
	for _, e := range left {
		if e.Name() != "lock" {
			if err := os.RemoveAll(filepath.Join(beside, e.Name())); err != nil {
				return unwritten(err)
			}
		}
	}
	if err := d.scan(); err != nil {
		return err
	}
	return d.contents.open(d)
}

// each calls visit for each file of a table.
func (d *Dir) each(table string, visit func(dir, name string) error) error {
	clusters, err := os.ReadDir(filepath.Join(d.root, table))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return unwritten(err)
	}
	for _, c := range clusters {
		if !c.IsDir() || !strings.HasPrefix(c.Name(), "cluster=") {
			continue
		}
		dates, err := os.ReadDir(filepath.Join(d.root, table, c.Name()))
		if err != nil {
			return unwritten(err)
		}
		for _, day := range dates {
			if !day.IsDir() || !strings.HasPrefix(day.Name(), "date=") {
				continue
			}
			dir := filepath.Join(d.root, table, c.Name(), day.Name())
			files, err := os.ReadDir(dir)
			if err != nil {
				return unwritten(err)
			}
			for _, f := range files {
				if f.Type().IsRegular() && strings.HasSuffix(f.Name(), ending) {
					if err := visit(dir, f.Name()); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// scan finds out what is there, and removes what is there without what it belongs to.
func (d *Dir) scan() error {
	read := false
	err := d.each(Entries, func(dir, name string) error {
		b, s, holes, is := parsePart(name)
		if !is {
			return nil
		}
		path := filepath.Join(dir, name)
		if !read {
			if err := sameSchema(path); err != nil {
				return err
			}
			read = true
		}
		spans := []span{s}
		if holes {
			var err error
			if spans, err = spansIn(path); err != nil {
				return err
			}
		}
		t := d.of(b)
		t.spans = append(t.spans, spans...)
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range []string{Acks, Connections} {
		if err := d.each(table, func(dir, name string) error {
			if b, is := strings.CutSuffix(name, openMark+ending); is {
				d.of(b).standing = append(d.of(b).standing, filepath.Join(dir, name))
				return nil
			}
			return d.needs(Entries, table, dir, name)
		}); err != nil {
			return err
		}
	}
	if err := d.each(Findings, func(dir, name string) error {
		t := d.of(strings.TrimSuffix(name, ending))
		t.findings = append(t.findings, filepath.Join(dir, name))
		return nil
	}); err != nil {
		return err
	}
	if err := d.each(Clients, func(dir, name string) error {
		t := d.of(strings.TrimSuffix(name, ending))
		t.standing = append(t.standing, filepath.Join(dir, name))
		return nil
	}); err != nil {
		return err
	}
	for _, t := range d.have {
		t.join()
	}
	return d.each(Bodies, func(dir, name string) error { return d.needs(Resources, Bodies, dir, name) })
}

// needs removes a file of one table if that of the same name in another is not there.
func (d *Dir) needs(other, table, dir, name string) error {
	rel, err := filepath.Rel(filepath.Join(d.root, table), dir)
	if err != nil {
		return unwritten(err)
	}
	if _, _, _, is := parsePart(name); !is && table != Bodies {
		return nil // not ours
	}
	_, err = os.Lstat(filepath.Join(d.root, other, rel, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(filepath.Join(dir, name))
	}
	return unwritten(err)
}

// sameSchema says whether a file has the schema that this program writes.
func sameSchema(path string) error {
	version, is := metaOf(path, keySchema)
	if is && version != strconv.Itoa(Version) {
		return &ForeignError{path, fmt.Sprintf("its tables have version %q of the schema, and this program writes version %d", version, Version)}
	}
	return nil
}

// metaOf is what the metadata of a file says; false if it says nothing, or cannot be
// read.
func metaOf(path, key string) (string, bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false
	}
	p, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return "", false
	}
	return p.Lookup(key)
}

func (d *Dir) of(base string) *there {
	t := d.have[base]
	if t == nil {
		t = &there{}
		d.have[base] = t
	}
	return t
}

// join makes one span of those that follow each other.
func (t *there) join() {
	slices.SortFunc(t.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	kept := t.spans[:0]
	for _, s := range t.spans {
		if n := len(kept); n > 0 && s.first <= kept[n-1].last+1 {
			kept[n-1].last = max(kept[n-1].last, s.last)
			continue
		}
		kept = append(kept, s)
	}
	t.spans = kept
}

// end is the greatest number that was exported; 0 if none was.
func (t *there) end() int64 {
	if n := len(t.spans); n > 0 {
		return t.spans[n-1].last
	}
	return 0
}

// covers says whether an entry was exported.
func (t *there) covers(seq int64) bool {
	i, _ := slices.BinarySearchFunc(t.spans, seq, func(s span, seq int64) int { return cmp.Compare(s.last, seq) })
	return i < len(t.spans) && t.spans[i].first <= seq
}

// Has says whether all entries of a recording from first to last were exported.
func (d *Dir) Has(of Recording, first, last int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.have[of.base()]
	if t == nil {
		return false
	}
	for _, s := range t.spans {
		if s.first <= first && s.last >= last {
			return true
		}
	}
	return false
}

// beside is the path of a new file that is not whole.
func (d *Dir) beside(table string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.besideLocked(table)
}

func (d *Dir) besideLocked(table string) string {
	d.made++
	return filepath.Join(d.root, incomplete, fmt.Sprintf("%s-%d", table, d.made))
}

// Close publishes what waits, and lets go of the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.publish()
	for _, p := range d.pending {
		p.discard()
	}
	d.contents.close()
	if d.lock != nil {
		d.lock.Close()
		d.lock = nil
	}
	return err
}
