package objects

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// sent is the body of a request, which is not read any more once the request is
// over. net/http may go on reading a body after it has given an error or an early
// answer, and minio-go reads the same reader from its beginning for another try:
// both at once would send what belongs to nothing.
type sent struct {
	mu   sync.Mutex // held while from is read, which is a file
	from io.ReadCloser
	over bool
}

var errOver = errors.New("the request is over")

// sending is req with a body that can be ended; nil if it has none.
func sending(req *http.Request) (*http.Request, *sent) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body := &sent{from: req.Body}
	with := *req
	with.Body = body
	return &with, body
}

func (s *sent) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, errOver
	}
	return s.from.Read(b)
}

func (s *sent) Close() error { return s.from.Close() }

// end says that nobody reads it from here on.
func (s *sent) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
