package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
)

// bucket is a store that speaks S3.
//
// An upload asks the server not to overwrite (If-None-Match), which AWS, R2, newer
// Ceph and others do as one step. A server that ignores or refuses that is asked
// before whether the key is taken: another upload of the same key in that moment is
// not noticed there. Reads name the version (If-Match), and the ETag of every answer
// is compared, for servers that ignore that.
type bucket struct {
	name, host string
	http       *transport
	plain      *minio.Core // bodies as they are, signed with their SHA-256
	trailing   *minio.Core // bodies with a checksum behind them; nil where nobody wants that
	part       int64
	notice     func(string)

	refused       atomic.Bool // the server refuses trailers
	unconditional atomic.Bool // the server refuses If-None-Match
	told          sync.Map    // of what, once each
}

var _ interface {
	Store
	Clock
} = (*bucket)(nil)

func openBucket(name string, o Options) (*bucket, error) {
	env, err := readSurroundings()
	if err != nil {
		return nil, err
	}
	idle := o.Idle
	if idle <= 0 {
		idle = time.Minute
	}
	tr, err := newTransport(&env, idle)
	if err != nil {
		return nil, err
	}
	s := &bucket{name: name, host: "s3.amazonaws.com", http: tr, part: o.Part, notice: o.Notice}
	if s.part <= 0 {
		s.part = 256 << 20
	}
	s.part = max(s.part, 5<<20)
	options := &minio.Options{Creds: chain(), Secure: true, Transport: tr, Region: env.region, MaxRetries: o.Tries}
	if o.Tries <= 0 {
		options.MaxRetries = 4
	}
	if env.endpoint != nil {
		s.host, options.Secure = env.endpoint.Host, env.endpoint.Scheme == "https"
		if options.Region == "" {
			options.Region = "us-east-1" // what a server takes that knows no regions; asking for it costs a right
		}
	}
	client := func(o minio.Options) (*minio.Core, error) {
		c, err := minio.NewCore(s.host, &o)
		if err != nil {
			return nil, &Error{What: fmt.Sprintf("cannot use the server %s: %s", printable(s.host), printable(err.Error())), Hint: hintEndpoint}
		}
		c.SetS3EnableDualstack(false) // as in AWS's own programs
		return c, nil
	}
	if s.plain, err = client(*options); err != nil || !env.trailers {
		return s, err
	}
	options.TrailingHeaders = true
	s.trailing, err = client(*options)
	return s, err
}

func (s *bucket) URL(key string) string { return schemeS3 + s.name + "/" + key }

func (s *bucket) Skew() (time.Duration, bool) {
	n := s.http.skew.Load()
	return time.Duration(n), n != 0
}

// say tells the user something, once.
func (s *bucket) say(what string) {
	if _, again := s.told.LoadOrStore(what, true); !again && s.notice != nil {
		s.notice(what)
	}
}

// maxEmpty is how many pages of a listing may have no key at all: those of versions
// and of deleted objects have none.
const maxEmpty = 1000

func (s *bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		fetched, did := &fetches{}, "list "+s.URL(printable(prefix))
		fetched.most.Store(maxEmpty)
		last := ""
		for o := range s.plain.ListObjectsIter(context.WithValue(ctx, fetchesKey{}, fetched), s.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, FetchOwner: new(bool)}) {
			if o.Err != nil {
				yield(Object{}, s.failure(did, o.Err))
				return
			}
			fetched.most.Add(1)
			if !strings.HasPrefix(o.Key, prefix) || o.Key <= last {
				yield(Object{}, &Error{What: fmt.Sprintf("cannot %s: %s gives keys that were not asked for or are not in order", did, s.host), Err: errPage})
				return
			}
			last = o.Key
			if strings.HasSuffix(o.Key, "/") {
				continue // what consoles make of a folder
			}
			if !plain(o.Key) || o.Size < 0 {
				if !yield(Object{}, &KeyError{Key: o.Key}) {
					return
				}
				continue
			}
			if !yield(Object{Key: o.Key, Size: o.Size, Modified: o.LastModified.UTC(), ETag: etagOf(o.ETag)}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Object{}, err)
		}
	}
}

// fetches counts the pages of one listing, of which the context of its requests
// knows. A server that gives pages without keys for ever meets its bound.
type fetches struct{ pages, most atomic.Int64 }

type fetchesKey struct{}

func (s *bucket) Stat(ctx context.Context, key string) (Object, error) {
	if err := checkKey(key); err != nil {
		return Object{}, err
	}
	info, err := s.plain.StatObject(ctx, s.name, key, minio.StatObjectOptions{})
	if err != nil {
		err = s.failure("look at "+s.URL(key), err)
		return Object{}, err
	}
	if info.Size < 0 {
		return Object{}, &Error{What: fmt.Sprintf("%s does not say how large %s is", s.host, s.URL(key))}
	}
	return Object{Key: key, Size: info.Size, Modified: info.LastModified.UTC(), ETag: etagOf(info.ETag), Meta: metaOf(info.UserMetadata)}, nil
}

// etagOf is the name of a version, without what stands around it.
func etagOf(s string) string {
	s = strings.Trim(strings.TrimPrefix(s, "W/"), `"`)
	if len(s) > 256 || !showable(s) {
		return ""
	}
	return s
}

// status is the status of the answer that err is; 0 if it is none.
func status(err error) int {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return 0
	}
	if r.StatusCode == 0 && r.Code == "NoSuchKey" {
		return http.StatusNotFound
	}
	return r.StatusCode
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNoBucket) }
