package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/serve/viewerpb"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// DefaultViewers is how many viewers there may be at a time.
	DefaultViewers = 32
	// chunkSize is how many bytes of the recording a viewer gets at once: as many
	// a connection has to bring before it breaks, for a viewer to get on.
	chunkSize = 16 << 10
	// maxRequest is the largest request that is read, in bytes.
	maxRequest = 4 << 10
)

// Config says what a Server serves.
type Config struct {
	Log     *recorder.Log
	Program string // as recorder.Options has it
	Pairs   []Pair
	// Viewers bounds the streams that are read at a time; DefaultViewers if 0.
	Viewers int
	// PastForgotten is how often what is over was forgotten by who looks at
	// the log; nil if nobody does.
	PastForgotten func() uint64
	Logger        *zap.Logger // nothing if nil
}

// Pair is where a proxy listens, and what is behind it.
type Pair struct{ Listen, Upstream string }

// Server gives a log to viewers.
type Server struct {
	viewerpb.UnimplementedViewerServer
	c         Config
	recording string // by which it is known
	viewers   atomic.Int32
	Endpoint
}

// New is a Server that listens nowhere yet.
func New(c Config) *Server {
	if c.Viewers <= 0 {
		c.Viewers = DefaultViewers
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	s := &Server{c: c, recording: recordingID(c.Log.Facts().Created)}
	s.Endpoint = Endpoint{
		Name: "viewers", Calls: c.Viewers, Request: maxRequest, Trailer: viewerKey, Logger: c.Logger,
		Register: func(to *grpc.Server) { viewerpb.RegisterViewerServer(to, s) },
	}
	return s
}

// Info implements the service.
func (s *Server) Info(context.Context, *viewerpb.InfoRequest) (*viewerpb.InfoReply, error) {
	f := s.c.Log.Facts()
	out := &viewerpb.InfoReply{
		Recording: s.recording, Name: f.Path, Program: s.c.Program, Format: f.Version,
		Masked: f.Masked, Complete: f.Complete, Entries: f.Entries, Messages: f.Messages,
		Streams: f.Streams, Connections: f.Connections, Gaps: f.Gaps, Lost: f.Lost,
		Created: nanos(f.Created), First: nanos(f.First), Last: nanos(f.Last),
		LastSeq: uint64(f.LastSeq), Bytes: f.Bytes, MessageBytes: f.MessageBytes,
	}
	if out.Name == "" {
		out.Name = "memory"
	}
	if s.c.PastForgotten != nil {
		out.PastForgotten = proto.Uint64(s.c.PastForgotten())
	}
	for _, p := range s.c.Pairs {
		out.Pairs = append(out.Pairs, &viewerpb.Pair{Listen: p.Listen, Upstream: p.Upstream})
	}
	return out, nil
}

// recordingID is by what a recording is known: when it began, to the nanosecond.
func recordingID(began time.Time) string { return strconv.FormatInt(nanos(began), 36) }

// nanos is 0 for no time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// Read implements the service.
func (s *Server) Read(r *viewerpb.ReadRequest, to grpc.ServerStreamingServer[viewerpb.Chunk]) error {
	return s.send(r, to, false)
}

// Tail implements the service.
func (s *Server) Tail(r *viewerpb.ReadRequest, to grpc.ServerStreamingServer[viewerpb.Chunk]) error {
	return s.send(r, to, true)
}

// send gives a viewer what it asked for. gRPC's flow control makes Send wait for
// the viewer, and bounds what is on its way to it.
func (s *Server) send(r *viewerpb.ReadRequest, to grpc.ServerStreamingServer[viewerpb.Chunk], follow bool) error {
	if n := s.viewers.Add(1); int(n) > s.c.Viewers {
		s.viewers.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "there are %d viewers already", s.c.Viewers)
	}
	defer s.viewers.Add(-1)
	ctx := to.Context()
	defer Occupy(ctx)()
	feed, err := s.feed(r, follow)
	if err != nil {
		return err
	}
	defer func() { _ = feed.Close() }() // nothing was written to it
	from := zap.String("from", addressOf(ctx))
	s.c.Logger.Debug("a viewer reads", from, zap.Uint64("seq", r.From))
	defer s.c.Logger.Debug("a viewer is gone", from)
	buf := make([]byte, chunkSize)
	for {
		n, err := feed.Read(ctx, buf)
		if n > 0 {
			if serr := to.Send(&viewerpb.Chunk{Data: buf[:n], Resume: appendMark(nil, feed.Mark())}); serr != nil {
				return serr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if feed.Last() {
				return to.Send(&viewerpb.Chunk{Last: true})
			}
			return nil
		case err != nil:
			return s.refusal(err)
		}
	}
}

func (s *Server) feed(r *viewerpb.ReadRequest, follow bool) (*recorder.Feed, error) {
	after, err := parseMark(r.Resume)
	switch {
	case err != nil:
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case r.To > 0 && r.From > r.To:
		return nil, status.Errorf(codes.InvalidArgument, "from entry %d to entry %d: there is nothing between", r.From, r.To)
	case r.Recording != "" && r.Recording != s.recording:
		return nil, status.Error(codes.FailedPrecondition, "this is another recording")
	}
	feed, err := s.c.Log.Feed(recorder.FeedOptions{
		Segment: r.Segment, From: session.Seq(r.From), To: session.Seq(r.To), After: after, Follow: follow,
	})
	if err != nil {
		return nil, s.refusal(err)
	}
	return feed, nil
}

// refusal is what a viewer is told of an error. The words of others stay here:
// they may name paths.
func (s *Server) refusal(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return status.Error(codes.NotFound, "there is no such segment")
	case errors.Is(err, recorder.ErrMark):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	if _, is := errors.AsType[*recorder.DamageError](err); is {
		return status.Error(codes.DataLoss, err.Error())
	}
	s.c.Logger.Warn("a viewer cannot be served", zap.Error(err))
	return status.Error(codes.Internal, "the recording cannot be read")
}

func addressOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
