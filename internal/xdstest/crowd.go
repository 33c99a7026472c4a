package xdstest

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Crowd holds n connections that send what greeting says, and opens each anew
// soon after it is closed, until leave is called. It returns once each has been
// opened.
func Crowd(addr, greeting string, n int) (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var held, first sync.WaitGroup
	first.Add(n)
	for range n {
		held.Go(func() {
			once := sync.OnceFunc(first.Done)
			for ctx.Err() == nil {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				if err != nil {
					once()
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				_, _ = io.WriteString(c, greeting)
				once()
				_, _ = io.Copy(io.Discard, c)
				stop()
				_ = c.Close()
				time.Sleep(250 * time.Millisecond)
			}
		})
	}
	first.Wait()
	return func() { cancel(); held.Wait() }
}
