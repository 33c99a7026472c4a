package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// A path may be as long as one can be everywhere, and no longer.
func TestSocketPathLength(t *testing.T) {
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	room := maxSocketPath - len(dir) - 1
	if room < 1 {
		t.Skip("temporary files are too deep")
	}
	for more, want := range map[int]string{0: "", 1: "the path is longer than 103 bytes"} {
		path := filepath.Join(dir, strings.Repeat("x", room+more))
		l, err := ListenUnix(path)
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("of %d bytes: %v", len(path), err)
		}
		if err == nil {
			if l.Addr().String() != path {
				t.Errorf("it listens on %s", l.Addr())
			}
			_ = l.Close()
		}
	}
}

// Who comes with which token.
func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		token string
		given []string
		want  codes.Code
	}{
		{"", nil, codes.OK},
		{"", []string{"anything"}, codes.OK},
		{secret, nil, codes.Unauthenticated},
		{secret, []string{tokenWords + secret}, codes.OK},
		{secret, []string{secret}, codes.Unauthenticated},
		{secret, []string{tokenWords + secret + "x"}, codes.Unauthenticated},
		{secret, []string{tokenWords}, codes.Unauthenticated},
		{secret, []string{tokenWords + secret, tokenWords + secret}, codes.Unauthenticated},
	} {
		md := metadata.MD{}
		for _, g := range c.given {
			md.Append(tokenKey, g)
		}
		g := &guard{token: c.token}
		if got := status.Code(g.admit(metadata.NewIncomingContext(t.Context(), md))); got != c.want {
			t.Errorf("%q with %q: %v", c.token, c.given, got)
		}
		if got := status.Code(g.admit(t.Context())); (got == codes.OK) != (c.token == "") {
			t.Errorf("%q without metadata: %v", c.token, got)
		}
	}
	if (&guard{}).mark() != nil || (&guard{trailer: "x"}).mark().Get("x")[0] != "1" {
		t.Error("answers are not marked as they are to be")
	}
}

// What a failure is called, and what a viewer is told of an error.
func TestWordsOfFailures(t *testing.T) {
	why := errors.New("why")
	for kind, want := range map[Kind]string{
		Unreachable: "cannot reach a proxy at a:1: why", NoViewer: "what listens at a:1 is no viewer endpoint: why", TokenMissing: "the proxy at a:1 wants a token",
		TokenWrong: "the proxy at a:1 wants another token", TooMany: "the proxy at a:1 refuses: why", OtherRecording: "the proxy at a:1 was started anew, and writes another recording",
		Refused: "the proxy at a:1 refuses: why", Lost: "the proxy at a:1 is gone: why",
	} {
		if e := (&Error{kind, "a:1", why}); e.Error() != want || !errors.Is(e, why) {
			t.Errorf("%d: %s", kind, e)
		}
	}
	core, said := observer.New(zap.WarnLevel)
	s := &Server{c: Config{Logger: zap.New(core)}}
	for _, c := range []struct {
		err  error
		want codes.Code
		text string
	}{
		{fs.ErrNotExist, codes.NotFound, "there is no such segment"},
		{recorder.ErrMark, codes.InvalidArgument, recorder.ErrMark.Error()},
		{context.Canceled, codes.Canceled, "context canceled"},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "context deadline exceeded"},
		{&recorder.DamageError{}, codes.DataLoss, (&recorder.DamageError{}).Error()},
		{&fs.PathError{Op: "open", Path: "/home/me/secret", Err: fs.ErrPermission}, codes.Internal, "the recording cannot be read"},
	} {
		got := status.Convert(s.refusal(fmt.Errorf("%w", c.err)))
		if got.Code() != c.want || !strings.HasSuffix(got.Message(), c.text) || strings.Contains(got.Message(), "/home") {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if said.Len() != 1 {
		t.Errorf("%d warnings", said.Len())
	}
	dialled, other := &link{dial: why}, &link{}
	for _, c := range []struct {
		err    error
		l      *link
		viewer bool
		token  string
		want   Kind
		text   string
	}{
		{status.Error(codes.Canceled, "x"), dialled, true, "", Lost, "context canceled"},
		{status.Error(codes.Unavailable, "x"), dialled, true, "", Unreachable, "why"},
		{status.Error(codes.DeadlineExceeded, "x"), other, true, "", NoViewer, "it gives no answer"},
		{status.Error(codes.Unauthenticated, "x"), other, true, "", TokenMissing, "x"},
		{status.Error(codes.Unauthenticated, "x"), other, true, secret, TokenWrong, "x"},
		{status.Error(codes.Unauthenticated, "x"), other, false, secret, NoViewer, "x"},
		{status.Error(codes.ResourceExhausted, "x"), other, true, "", TooMany, "x"},
		{status.Error(codes.ResourceExhausted, "x"), other, false, "", NoViewer, "x"},
		{status.Error(codes.FailedPrecondition, "x"), other, true, "", OtherRecording, "x"},
		{status.Error(codes.FailedPrecondition, "x"), other, false, "", NoViewer, "x"},
		{status.Error(codes.Internal, "x"), other, true, "", Refused, "x"},
		{status.Error(codes.Internal, "x"), other, false, "", NoViewer, "x"},
		{why, other, true, "", Refused, "why"},
	} {
		e, _ := errors.AsType[*Error]((&Client{network: "tcp", address: "a:1", o: Options{Token: c.token}}).explain(c.err, c.l, c.viewer))
		if e == nil || e.Kind != c.want || e.Err.Error() != c.text || e.Address != "a:1" {
			t.Errorf("%v of a viewer endpoint %v: %+v", c.err, c.viewer, e)
		}
	}
	known := &Client{network: "tcp", address: "a:1", info: Info{Recording: "10"}}
	for err, want := range map[error]Kind{status.Error(codes.Unavailable, "EOF"): Lost, status.Error(codes.Unimplemented, "x"): NoViewer} {
		if e, _ := errors.AsType[*Error](known.explain(err, other, false)); e == nil || e.Kind != want {
			t.Errorf("%v of who was a viewer endpoint: %+v", err, e)
		}
	}
	if rootOf(why) != why || rootOf(&Error{Err: why}) != why {
		t.Error("what an error is about has words of ours")
	}
	if !timeOf(nanos(time.Time{})).IsZero() || !timeOf(nanos(time.Unix(1, 2))).Equal(time.Unix(1, 2)) || recordingID(time.Unix(0, 36)) != "10" {
		t.Error("times are not what they were")
	}
}

// Marks are four numbers, and nothing more.
func TestMarks(t *testing.T) {
	m := recorder.Mark{Segment: 1 << 60, At: 1 << 40, Entries: 7, Skip: 3}
	b := appendMark(nil, m)
	if got, err := parseMark(b); err != nil || got != m {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := parseMark(nil); err != nil || got != (recorder.Mark{}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, wrong := range map[string][]byte{
		"in part": b[:len(b)-1], "more": append(b, 0), "before the beginning": appendMark(nil, recorder.Mark{At: -1}), "less than nothing": appendMark(nil, recorder.Mark{Skip: -1}),
	} {
		if got, err := parseMark(wrong); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := parseMark(appendMark(nil, recorder.Mark{})); err != nil || got != (recorder.Mark{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// That nobody is accepted any more is said, if nobody wanted that.
func TestBrokenListener(t *testing.T) {
	for name, broken := range map[string]bool{"broken": true, "closed": false} {
		core, said := observer.New(zap.ErrorLevel)
		p := &Endpoint{Name: "viewers", Calls: 1, Request: 1, Logger: zap.New(core), Register: func(*grpc.Server) {}}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p.Serve(l, "")
		if broken {
			_ = l.Close()
			p.running.Wait()
		}
		p.Close(0)
		if got := said.FilterMessage("viewers are no longer accepted").Len(); (got == 1) != broken {
			t.Errorf("%s: %d lines", name, got)
		}
	}
}

// A reader may be told where to end, and how to read, before and after it goes elsewhere.
func TestReaderIsTold(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	write(t, log, f, 20)
	_, c := served(t, log, "unix", quick())
	want, _ := own(t, log)
	r := c.Open(0, 0)
	defer r.Close()
	r.Pieces()
	r.Large()
	read := func(what string, first, last session.Seq) {
		t.Helper()
		at := first
		for ; ; at++ {
			e, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || e.Seq != at || string(e.Message.Data.Bytes()) != string(want[at-1].Message.Data.Bytes()) {
				t.Fatalf("%s: in the place of entry %d there is %d, %v", what, at, e.Seq, err)
			}
		}
		if at != last+1 {
			t.Errorf("%s: it ends before %d", what, at)
		}
	}
	r.Limit(7)
	read("up to a limit", 1, 7)
	for _, to := range []session.Seq{9, 5, 0} {
		if err := r.Seek(5); err != nil {
			t.Fatal(err)
		}
		r.Limit(to)
		if to == 0 {
			to = 20
		}
		read(fmt.Sprint("from 5 to ", to), 5, to)
	}
}
