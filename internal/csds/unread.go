package csds

import (
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	pb "google.golang.org/protobuf/proto"
)

// charged is from how many bytes on a message counts as unread.
const charged = 4 << 10

// unread is gRPC's codec for protobuf, which counts the bytes of messages that are
// not written to a connection yet: they wait there for as long as a caller does not
// read them.
type unread struct {
	encoding.CodecV2
	bytes atomic.Int64
}

func newUnread() *unread { return &unread{CodecV2: encoding.GetCodecV2(proto.Name)} }

// room says whether less than so many bytes wait.
func (u *unread) room(most int) error {
	if u.bytes.Load() < int64(most) {
		return nil
	}
	return status.Errorf(codes.ResourceExhausted, "answers of more than %d bytes wait for callers that do not read them: ask again later", most)
}

// Marshal implements encoding.CodecV2.
func (u *unread) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(pb.Message)
	if !ok || pb.Size(m) < charged {
		return u.CodecV2.Marshal(v)
	}
	text, err := pb.Marshal(m)
	if err != nil {
		return nil, err
	}
	size := int64(len(text))
	u.bytes.Add(size)
	release := sync.OnceFunc(func() { u.bytes.Add(-size) })
	// gRPC gives a buffer back when it was written, but not always where a call was
	// cancelled.
	runtime.AddCleanup(&text, func(release func()) { release() }, release)
	return mem.BufferSlice{mem.NewBuffer(&text, releasing(release))}, nil
}

// releasing is a pool of one buffer, which is told when that is given back.
type releasing func()

func (r releasing) Get(size int) *[]byte {
	b := make([]byte, size)
	return &b
}

func (r releasing) Put(*[]byte) { r() }
