// Package objects reads and writes places with objects: a bucket of a store that
// speaks S3, or a directory. It does not know what the objects are.
//
// What a store answers is from outside: pages of a listing, header fields and
// bodies are read with a bound, keys that could mean something else as the name of
// a file are refused, and metadata that cannot be shown is left out.
package objects

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// Object is what a store says of one object.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
	// ETag names this version of the object; "" if the store has none.
	ETag string
	// Meta is what was stored with it, keys in lower case. Only Stat and Open
	// give it. A store may lose it: nothing here is certain to be there.
	Meta map[string]string
}

// Store is a place with objects. Keys are relative to it, with slashes. Its
// methods may be called by several goroutines.
type Store interface {
	// List gives the objects whose keys begin with prefix, keys ascending by
	// bytes. Pages are fetched as they are asked for. A KeyError is of one
	// object, and the list goes on after it; any other error is its end.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Stat is fs.ErrNotExist if there is no such object.
	Stat(ctx context.Context, key string) (Object, error)
	// Open reads by range; every read is of the version that was opened, and
	// fails with ErrChanged if that is no longer there. Reads end with ctx.
	Open(ctx context.Context, key string) (Content, error)
	// Put stores an object as a whole or not at all. It never overwrites: where
	// the key is taken it is fs.ErrExist. How firm that is depends on the store:
	// see the comments of the two.
	Put(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error
	// URL is the object's, as Open takes it.
	URL(key string) string
}

// Content is an object that is being read.
type Content interface {
	io.ReaderAt
	io.Closer
	Object() Object
	// Read is how many bytes were fetched so far.
	Read() int64
}

// Clock is what a store may have, too.
type Clock interface {
	// Skew is how far the clock of the store is ahead of this machine's, as its
	// last answer said; false before there was one. It is exact to a second and
	// the time that the answer took.
	Skew() (time.Duration, bool)
}

// KeyError is an object in a listing whose key cannot be used.
type KeyError struct{ Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("the object %s has a key that is not a plain path", printable(e.Key))
}

// ErrChanged says that an object is not the one any more that was opened.
var ErrChanged = fmt.Errorf("the object was changed or replaced while it was read")

// Options say how a store is spoken with. The zero value is good.
type Options struct {
	// Create makes the directory of a file:// that is not there.
	Create bool
	// Idle is how long a connection may be without a byte in either direction; a
	// minute if 0.
	Idle time.Duration
	// Tries is how often a request is tried that may work another time; 4 if 0.
	Tries int
	// Part is the size from which on an object is uploaded in parts of that size;
	// 256 MiB if 0, at least 5 MiB.
	Part int64
	// Notice is told, once each, what the user may want to know; it may be nil.
	Notice func(string)
}
