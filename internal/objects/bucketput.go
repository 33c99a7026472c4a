package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// maxParts is the most parts that S3 takes for one object.
const maxParts = 10000

// Put uploads with a signature of the SHA-256 of the body, so that what arrives is
// what was read here or nothing. Where meta has it as "sha256", it is not computed
// again; the server refuses the body if it is another one.
func (s *bucket) Put(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := checkMeta(meta); err != nil {
		return err
	}
	did := "upload " + s.URL(key)
	// A server that does not know If-None-Match would overwrite; and a large body is
	// not sent where it will be refused. Without the right to look, the upload tells.
	switch _, err := s.Stat(ctx, key); {
	case err == nil:
		return s.taken(key)
	case !isMissing(err) && status(err) != http.StatusForbidden:
		return err
	}
	if size > s.part {
		return s.failure(did, s.putParts(ctx, key, body, size, meta))
	}
	return s.failure(did, s.putWhole(ctx, key, body, size, meta))
}

func (s *bucket) taken(key string) error {
	return &Error{What: fmt.Sprintf("there is an object %s already, and none is overwritten", s.URL(key)), Err: fs.ErrExist}
}

// putWhole is one request, and others where the server knows less than AWS.
func (s *bucket) putWhole(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error {
	sum := meta["sha256"]
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		var err error
		if sum, err = sumOf(body, 0, size); err != nil {
			return err
		}
	}
	with := s.abilities()
	for {
		o := s.putOptions(meta, with)
		client, signed := s.plain, sum
		if with.trailers {
			client, signed, o.Checksum, o.DisableContentSha256 = s.trailing, "", minio.ChecksumCRC32C, false
		}
		_, err := client.PutObject(ctx, s.name, key, io.NewSectionReader(body, 0, size), size, "", signed, o)
		switch {
		case err == nil:
			s.learn(with)
			return nil
		case status(err) == http.StatusPreconditionFailed:
			return s.taken(key)
		case code(err) == "ConditionalRequestConflict":
			return &Error{What: fmt.Sprintf("another upload of %s is under way", s.URL(key)), Err: err, Again: true}
		case !with.lessFor(err):
			return err
		}
	}
}

// abilities are what a server may not know.
type abilities struct {
	trailers  bool // a checksum behind the body
	condition bool // If-None-Match
}

func (s *bucket) abilities() abilities {
	return abilities{trailers: s.trailing != nil && !s.refused.Load(), condition: !s.unconditional.Load()}
}

// lessFor takes away what err may be the refusal of, and says whether there was
// anything. Servers do not agree how they refuse trailers: with what means that
// something is wrong with the request, it is tried once without.
func (a *abilities) lessFor(err error) bool {
	unknown := code(err) == "NotImplemented" || status(err) == http.StatusNotImplemented
	if a.trailers && (unknown || wrongRequest(err)) {
		a.trailers = false
		return true
	}
	if a.condition && unknown {
		a.condition = false
		return true
	}
	return false
}

func wrongRequest(err error) bool {
	switch code(err) {
	case "InvalidAccessKeyId", "AccessDenied", "ExpiredToken", "InvalidToken", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed":
		return false
	}
	switch status(err) {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusLengthRequired, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// learn remembers what an upload worked without.
func (s *bucket) learn(with abilities) {
	if s.trailing != nil && !with.trailers && s.refused.CompareAndSwap(false, true) {
		s.say(fmt.Sprintf("%s refuses checksums behind the body: uploads go on without, signed with their SHA-256; AWS_REQUEST_CHECKSUM_CALCULATION=when_required says so from the beginning", s.host))
	}
	if !with.condition && s.unconditional.CompareAndSwap(false, true) {
		s.say(fmt.Sprintf("%s cannot be told not to overwrite (If-None-Match): it is asked before each upload whether the key is taken", s.host))
	}
}

func (s *bucket) putOptions(meta map[string]string, with abilities) minio.PutObjectOptions {
	o := minio.PutObjectOptions{UserMetadata: meta, DisableContentSha256: true}
	if with.condition {
		o.SetMatchETagExcept("*")
	}
	return o
}

func code(err error) string {
	var r minio.ErrorResponse
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// putParts uploads in parts. Of an upload that fails nothing is seen; what a kill
// leaves of it is for the bucket's lifecycle to remove.
func (s *bucket) putParts(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error {
	part := max(s.part, (size+maxParts-1)/maxParts)
	first := minio.PutObjectOptions{UserMetadata: meta, DisableContentSha256: true}
	id, err := s.plain.NewMultipartUpload(ctx, s.name, key, first)
	if err != nil {
		return err
	}
	defer func() {
		if id != "" {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			_ = s.plain.AbortMultipartUpload(ctx, s.name, key, id)
		}
	}()
	var parts []minio.CompletePart
	for off := int64(0); off < size; off += part {
		n := min(part, size-off)
		sum, err := sumOf(body, off, n)
		if err != nil {
			return err
		}
		done, err := s.plain.PutObjectPart(ctx, s.name, key, id, len(parts)+1, io.NewSectionReader(body, off, n), n,
			minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true})
		if err != nil {
			return err
		}
		parts = append(parts, minio.CompletePart{PartNumber: done.PartNumber, ETag: done.ETag})
	}
	with := s.abilities()
	with.trailers = false
	for {
		_, err = s.plain.CompleteMultipartUpload(ctx, s.name, key, id, parts, s.putOptions(nil, with))
		switch {
		case err == nil:
			id = ""
			return nil
		case status(err) == http.StatusPreconditionFailed:
			return s.taken(key)
		case !with.lessFor(err):
			return err
		}
	}
}

// sumOf is the SHA-256 of a part of body, which it reads in small pieces.
func sumOf(body io.ReaderAt, off, n int64) (string, error) {
	h := sha256.New()
	got, err := io.Copy(h, io.NewSectionReader(body, off, n))
	if err == nil && got != n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", &Error{What: fmt.Sprintf("cannot read what is to be uploaded: %v", err), Err: err}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
