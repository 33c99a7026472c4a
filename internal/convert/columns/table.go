package columns

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Version is that of the schema, which is in the metadata of each file.
const Version = 1

// What the metadata of a file says, beside its schema.
const (
	keySchema    = "xdsproxy.schema"
	keyTable     = "xdsproxy.table"
	keyRecording = "xdsproxy.recording"
	keyFirst     = "xdsproxy.first" // of the entries that were read for it
	keyLast      = "xdsproxy.last"
	keyWrote     = "xdsproxy.program"
)

const (
	// groupBytes is how many bytes of values make a row group. One row may have more.
	groupBytes = 24 << 20
	// batchRows and batchBytes are what waits to be handed over at once.
	batchRows  = 256
	batchBytes = 1 << 20
	// maxDictionary bounds a dictionary: texts beyond it stand in the pages.
	maxDictionary = 1 << 20
)

// row is a row of a table.
type row[T any] interface {
	*T
	bytes() int
}

// table is a file of a table while it is written. It is used by one goroutine.
type table[T any, P row[T]] struct {
	path  string
	f     *os.File
	w     *bufio.Writer
	rows  *parquet.GenericWriter[T]
	batch []T
	held  int // bytes of batch
	group int // bytes in the row group that is being written
	count int64
	total int64
	quick bool
	err   error
}

// newTable begins a file beside. What is in it counts once it was renamed.
func newTable[T any, P row[T]](o *Options, path, name string, meta map[string]string) (*table[T, P], error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, unwritten(err)
	}
	t := &table[T, P]{path: path, f: f, quick: o.quick, w: bufio.NewWriterSize(f, 64<<10)}
	options := []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault, Concurrency: 1}),
		parquet.DictionaryMaxBytes(maxDictionary),
		parquet.PageBufferSize(64 << 10),
		parquet.KeyValueMetadata(keySchema, strconv.Itoa(Version)),
		parquet.KeyValueMetadata(keyTable, name),
	}
	if name == Bodies {
		options = append(options, parquet.SkipPageBounds("bytes"), parquet.SkipPageStatistics("bytes"))
	}
	for key, value := range meta {
		options = append(options, parquet.KeyValueMetadata(key, value))
	}
	t.rows = parquet.NewGenericWriter[T](t.w, options...)
	return t, nil
}

// add writes a row, sooner or later. The row must not change any more.
func (t *table[T, P]) add(r T) error {
	n := P(&r).bytes()
	if t.group+t.held+n > groupBytes && t.group+t.held > 0 {
		if err := t.endGroup(); err != nil {
			return err
		}
	}
	t.batch = append(t.batch, r)
	t.held += n
	t.total += int64(n)
	t.count++
	if len(t.batch) >= batchRows || t.held >= batchBytes {
		return t.hand()
	}
	return nil
}

// hand gives the rows that wait to the encoder.
func (t *table[T, P]) hand() error {
	if t.err != nil || len(t.batch) == 0 {
		return t.err
	}
	for i := range t.batch {
		// One at a time: parquet-go 0.32 takes what is null in many for empty, where as
		// many rows have a value as were null before (TestNulls).
		if _, err := t.rows.Write(t.batch[i : i+1]); err != nil {
			t.err = unwritten(err)
			return t.err
		}
	}
	t.group += t.held
	clear(t.batch)
	t.batch, t.held = t.batch[:0], 0
	return t.err
}

func (t *table[T, P]) endGroup() error {
	if err := t.hand(); err != nil {
		return err
	}
	t.err = unwritten(t.rows.Flush())
	t.group = 0
	return t.err
}

// seal brings all of it to the disk, still beside.
func (t *table[T, P]) seal() error {
	err := t.hand()
	if err == nil {
		err = unwritten(t.rows.Close())
	}
	if err == nil {
		err = unwritten(t.w.Flush())
	}
	if err == nil && !t.quick {
		err = unwritten(t.f.Sync())
	}
	if closed := t.f.Close(); err == nil {
		err = unwritten(closed)
	}
	t.rows, t.w, t.batch = nil, nil, nil
	if err != nil {
		_ = os.Remove(t.path)
	}
	return err
}

// discard gives it up.
func (t *table[T, P]) discard() {
	if t.rows != nil {
		_ = t.f.Close()
	}
	_ = os.Remove(t.path)
}

// WriteError says that the directory cannot be written.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return fmt.Sprintf("cannot write the tables: %v", e.Err) }

// Unwrap is for errors.Is.
func (e *WriteError) Unwrap() error { return e.Err }

func unwritten(err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*WriteError](err); is {
		return err
	}
	return &WriteError{err}
}

// publish gives a file that was sealed its name.
func publish(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return unwritten(err)
	}
	return unwritten(os.Rename(from, to))
}

// settle brings the names in directories to the disk, and those of their parents up
// to the root.
func (o *Options) settle(root string, dirs ...string) error {
	if o.quick {
		return nil
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		for !seen[dir] {
			seen[dir] = true
			f, err := os.Open(dir)
			if err != nil {
				return unwritten(err)
			}
			err = f.Sync()
			f.Close()
			if err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return unwritten(err)
			}
			if dir == root || len(dir) <= len(root) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	return nil
}
