package main

import (
	"io"
	"net"
	"os/exec"
	"sync"
)

// stalledArchive is xdsproxy whose segments go to a store that takes connections and
// never answers, and inSegments is the same without a store: what the two differ in is
// what the archive costs. Both are measured where they are named.
const (
	stalledArchive = "stalled-archive"
	inSegments     = "segments"
)

// benchSegment is small, so that short loads have segments, too.
const benchSegment = "1MiB"

// onRequest are relays that "all" does not have.
func onRequest() []relay {
	return []relay{
		{name: inSegments, pkg: ownPackage, command: segmented, announces: true, grows: true},
		{name: stalledArchive, pkg: ownPackage, command: archiveStalled, announces: true, grows: true},
	}
}

func segmented(b *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	cmd, err := xdsproxy(b, dir, listen, upstream)
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, "--max-size", benchSegment)
	return cmd, nil
}

func archiveStalled(b *bench, dir, listen, upstream string) (*exec.Cmd, error) {
	store, err := b.stalled.address()
	if err != nil {
		return nil, err
	}
	cmd, err := segmented(b, dir, listen, upstream)
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args, "--archive", "s3://bench/", "--archive-name", "bench")
	cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL=http://"+store, "AWS_ENDPOINT_URL_S3=", "AWS_ACCESS_KEY_ID=bench", "AWS_SECRET_ACCESS_KEY=bench", "AWS_REGION=us-east-1", "NO_PROXY=127.0.0.1")
	return cmd, nil
}

// stalledStore reads what it is sent, and says nothing.
type stalledStore struct {
	mu       sync.Mutex
	listener net.Listener
}

// address is where it listens, from the first time on that it is asked for.
func (s *stalledStore) address() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		s.listener = l
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				}()
			}
		}()
	}
	return s.listener.Addr().String(), nil
}

func (s *stalledStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
}
