package console

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// LazyWriter buffers what is written and passes it on within a moment, so that
// many lines cost one write and a single line is not kept waiting. Close it to
// pass on the rest. It may be used from any goroutine.
type LazyWriter struct {
	mu     sync.Mutex
	buf    *bufio.Writer
	timer  *time.Timer
	armed  bool
	closed bool
}

const moment = 10 * time.Millisecond

// NewLazyWriter passes on to w.
func NewLazyWriter(w io.Writer) *LazyWriter {
	l := &LazyWriter{buf: bufio.NewWriterSize(w, 64<<10)}
	l.timer = time.AfterFunc(time.Hour, l.flush)
	l.timer.Stop()
	return l
}

// Write returns the error of an earlier flush, if there was one.
func (l *LazyWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.armed {
		l.armed = true
		l.timer.Reset(moment)
	}
	return l.buf.Write(p)
}

func (l *LazyWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if !l.closed {
		_ = l.buf.Flush() // kept by buf, and returned by what is called next
	}
}

// Close passes on the rest. It does not close the writer below.
func (l *LazyWriter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.buf.Flush()
}
