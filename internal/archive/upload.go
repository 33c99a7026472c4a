package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// upload brings a piece to the store, unless that has it. The error is one of the
// store, which may be over later; what is wrong with the piece alone is told, and
// its state says so.
func (a *Archive) upload(ctx context.Context, r *recording, p *piece) error {
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		a.set(p, dropped)
		return nil
	}
	if err != nil {
		a.refuse(p, fmt.Sprintf("cannot upload %s: %v", p.path, err), "")
		return nil
	}
	defer f.Close()
	facts, err := recorder.InspectFile(p.path)
	var damage *recorder.DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.set(p, dropped)
		return nil
	case err != nil && !errors.As(err, &damage):
		// A file without a whole header is what a kill in the first moment leaves.
		if info, statErr := f.Stat(); statErr == nil && info.Size() == 0 {
			a.set(p, empty)
			return nil
		}
		a.refuse(p, fmt.Sprintf("cannot upload %s: %v", p.path, err), "")
		return nil
	case !facts.Began.Equal(r.intent.Began) && !r.intent.Began.IsZero():
		a.set(p, empty) // somebody put another recording there
		return nil
	case facts.Writing:
		// Its writer is about to end it; or it is another process, whose business it is.
		a.mu.Lock()
		p.later = time.Now().Add(time.Second)
		a.mu.Unlock()
		return nil
	case facts.Facts.Entries == 0:
		a.set(p, empty)
		return nil
	}
	size := facts.Size
	key := a.key(r, &facts)
	switch has, known, err := a.has(ctx, key, size, ""); {
	case err != nil:
		return err
	case known && has:
		a.arrived(p, size)
		return nil
	}
	sum, err := sumOf(ctx, f, size)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		a.refuse(p, fmt.Sprintf("cannot upload %s: %v", p.path, err), "")
		return nil
	}
	err = a.o.Store.Put(ctx, key, f, size, a.metadata(r, &facts, sum))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Whoever put it there, and whatever was answered: what the store has counts.
	has, known, err := a.has(ctx, key, size, sum)
	switch {
	case err != nil:
		return err
	case !known:
		return &objects.Error{What: fmt.Sprintf("%s was uploaded, and the store does not have it", a.o.Store.URL(key)), Again: true}
	case !has:
		a.refuse(p, fmt.Sprintf("%s is not what was to be uploaded there from %s: nothing is overwritten", a.o.Store.URL(key), p.path),
			"look at the object; once it is removed, the next start uploads the segment")
		return nil
	}
	a.arrived(p, size)
	a.lookForOthers(ctx, r, key)
	return nil
}

// has says whether the store has this very piece, if it has something there at all.
// Without a sum, the size and that a sum is noted have to do: the name is of one
// segment of one recording, which does not change any more.
func (a *Archive) has(ctx context.Context, key string, size int64, sum string) (has, known bool, err error) {
	o, err := a.o.Store.Stat(ctx, key)
	a.watchClock()
	switch {
	case errors.Is(err, objects.ErrNoBucket):
		return false, false, err
	case errors.Is(err, fs.ErrNotExist):
		return false, false, nil
	case errors.Is(err, objects.ErrDenied) && sum == "":
		return false, false, nil // who may not list is not told what is missing: the upload says
	case err != nil:
		return false, false, err
	case o.Size != size:
		return false, true, nil
	case o.Meta["sha256"] != "":
		return sum == "" || o.Meta["sha256"] == sum, true, nil
	case sum == "":
		return false, true, nil // compare it, with its sum
	}
	// A store that has lost the metadata: its bytes say.
	c, err := a.o.Store.Open(ctx, key)
	if err != nil {
		return false, false, err
	}
	defer c.Close()
	got, err := sumOf(ctx, c, size)
	if err != nil {
		return false, false, err
	}
	return got == sum, true, nil
}

// key is where a segment goes. Its date is that of its first entry.
func (a *Archive) key(r *recording, f *recorder.File) string {
	at := f.Facts.First
	if at.IsZero() {
		at = f.Began
	}
	return fmt.Sprintf("%s%s.%06d.xdsp", a.folder(r, at), r.intent.Recording, max(f.Number, 1))
}

// folder is where the segments of a day go.
func (a *Archive) folder(r *recording, at time.Time) string {
	return fmt.Sprintf("%scluster=%s/date=%s/proxy=%s/", a.o.Prefix, Escape(r.intent.Cluster), at.UTC().Format(time.DateOnly), Escape(r.intent.Proxy))
}

// Escape is a name as part of a key: letters, digits and -_. as they are, all other
// bytes as %XX, which url.PathUnescape reads.
func Escape(name string) string {
	out := strings.NewReplacer("+", "%2B", "=", "%3D", "&", "%26", "$", "%24", "@", "%40", ":", "%3A", "~", "%7E").Replace(url.PathEscape(name))
	if strings.HasPrefix(out, ".") { // hidden, and no folder at all if it is one of two
		out = "%2E" + out[1:]
	}
	return out
}

// metadata are the facts of a segment, as header fields can carry them.
func (a *Archive) metadata(r *recording, f *recorder.File, sum string) map[string]string {
	m := map[string]string{
		"schema": "xdsproxy/v1", "recording": r.intent.Recording, "segment": strconv.FormatUint(max(f.Number, 1), 10),
		"began":     stamp(f.Began),
		"first-seq": strconv.FormatUint(uint64(f.First), 10), "last-seq": strconv.FormatUint(uint64(f.Facts.LastSeq), 10),
		"first-time": stamp(f.Facts.First), "last-time": stamp(f.Facts.Last),
		"entries": strconv.FormatUint(f.Facts.Entries, 10), "messages": strconv.FormatUint(f.Facts.Messages, 10),
		"program": ascii(f.Facts.Program), "complete": strconv.FormatBool(f.Facts.Complete), "sha256": sum,
		"masked": strconv.FormatBool(f.Facts.Masked),
	}
	if f.Facts.Damaged {
		m["damaged"] = "true"
	}
	if c, is := a.o.Store.(objects.Clock); is {
		if skew, known := c.Skew(); known {
			m["clock-skew-ms"] = strconv.FormatInt(skew.Milliseconds(), 10) // the store is ahead
		}
	}
	return m
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ascii is text that a header field can carry.
func ascii(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return strings.TrimSpace(s[:min(len(s), 200)])
}

// sumOf reads in small pieces, and lets others have the processor between them.
func sumOf(ctx context.Context, from io.ReaderAt, size int64) (string, error) {
	h, buf := sha256.New(), make([]byte, 128<<10)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := from.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		h.Write(buf[:n])
		if at += int64(n); at < size && err != nil {
			return "", err
		}
		runtime.Gosched()
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
