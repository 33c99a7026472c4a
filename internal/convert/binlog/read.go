package binlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxRecord = 256 << 20 // bytes of an entry of the log
	maxCalls  = 1 << 18   // calls and connections that are told apart
	// An entry has so many bytes beside the data of a message, and so many header
	// fields, each of which takes a hundred bytes of memory and may be written in two.
	maxHeaders = 1 << 20
	maxFields  = 4096
)

// Result is what was read.
type Result struct {
	Entries, Messages uint64
	Calls, Others     uint64 // calls of xDS, and calls that were left out
	// Missing counts entries that the log should have and does not: the program
	// dropped them, or ended before it wrote them.
	Missing   uint64
	Truncated uint64 // messages of which the log has the beginning only
	// Torn says that the file ends within an entry.
	Torn bool
}

// FormatError says that a file is no binary log, or one that is damaged.
type FormatError struct {
	Offset int64
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason) }

// Read gives the entries of all calls of xDS, in the order of the log. It ends at
// the first error of emit, or when the log ends or cannot be read any further.
func Read(r io.Reader, emit func(*session.Entry) error) (Result, error) {
	l := &log{in: bufio.NewReaderSize(r, 64<<10), emit: emit, calls: make(map[callKey]*call), conns: make(map[string]session.ConnID)}
	for {
		rec, err := l.next()
		if errors.Is(err, io.EOF) {
			err = l.release()
			return l.done, err
		}
		if err != nil {
			return l.done, errors.Join(err, l.release())
		}
		if err := l.record(rec); err != nil {
			return l.done, err
		}
	}
}

// log is a file that is being read.
type log struct {
	in    *bufio.Reader
	off   int64
	begun bool
	// varint says that lengths are varints; else they are four bytes.
	varint bool
	buf    bytes.Buffer

	emit  func(*session.Entry) error
	calls map[callKey]*call
	conns map[string]session.ConnID
	nstr  session.StreamID
	held  []held        // in the order in which they came
	last  session.Entry // of what was emitted last, for its time
	done  Result
}

func (l *log) wrong(format string, args ...any) error {
	return &FormatError{Offset: l.off, Reason: fmt.Sprintf(format, args...)}
}

// next reads an entry of the log; io.EOF at its end.
func (l *log) next() (*pb.GrpcLogEntry, error) {
	if !l.begun {
		first, err := l.in.Peek(1)
		if err != nil {
			return nil, err
		}
		// No first entry has 16 MiB, and none has no bytes.
		l.begun, l.varint = true, first[0] != 0
	}
	n, size, err := l.length()
	if err != nil {
		return nil, err
	}
	if n == 0 || n > maxRecord {
		return nil, l.wrong("an entry of %d bytes", n)
	}
	l.buf.Reset()
	if got, err := io.CopyN(&l.buf, l.in, int64(n)); err != nil {
		if errors.Is(err, io.EOF) && l.off > 0 {
			l.done.Torn = true
			return nil, io.EOF
		}
		if errors.Is(err, io.EOF) {
			return nil, l.wrong("it ends after %d of %d bytes", got, n)
		}
		return nil, err
	}
	if fault := tooMuch(l.buf.Bytes()); fault != "" {
		return nil, l.wrong("%s", fault)
	}
	rec := new(pb.GrpcLogEntry)
	if err := proto.Unmarshal(l.buf.Bytes(), rec); err != nil || rec.GetCallId() == 0 || len(rec.ProtoReflect().GetUnknown()) > 0 {
		return nil, l.wrong("no entry of a binary log of gRPC")
	}
	l.off += int64(size) + int64(n)
	return rec, nil
}

// tooMuch says in what an entry has more than its bounds, or "". It goes over the
// bytes before anything is made of them.
func tooMuch(entry []byte) string {
	size, n := 0, 0
	for s := protoscan.Of(entry); s.Next(); {
		size += s.Off - s.At
		switch s.Num {
		case numMessage:
			for m := protoscan.Of(s.Body); m.Next(); {
				if m.Num == numData {
					size -= len(m.Body)
				}
			}
		case numClientHeader, numServerHeader, numTrailer:
			for h := protoscan.Of(s.Body); h.Next(); {
				for m := protoscan.Of(h.Body); h.Num == numMetadata && m.Next(); {
					n++
				}
			}
		}
		if n > maxFields {
			return fmt.Sprintf("an entry of more than %d header fields", maxFields)
		}
	}
	if size > maxHeaders {
		return fmt.Sprintf("an entry of %d bytes beside the data of its message", size)
	}
	return ""
}

// Numbers of fields in binarylog.proto.
const (
	numClientHeader, numServerHeader, numMessage, numTrailer = 6, 7, 8, 9 // of an entry

	numMetadata = 1 // of what header fields are in
	numData     = 2 // of a message
)

// length reads the length of the next entry, and says how many bytes it took.
func (l *log) length() (n uint64, size int, err error) {
	if !l.varint {
		var b [4]byte
		got, err := io.ReadFull(l.in, b[:])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			l.done.Torn = true
			return 0, got, io.EOF
		}
		return uint64(binary.BigEndian.Uint32(b[:])), got, err
	}
	n, err = binary.ReadUvarint(l.in)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		l.done.Torn, err = true, io.EOF
	case err != nil && !errors.Is(err, io.EOF):
		err = l.wrong("no length of an entry")
	}
	return n, len(binary.AppendUvarint(nil, n)), err
}
