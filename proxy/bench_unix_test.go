//go:build unix

package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRelay passes messages of a size through the proxy and back, in each
// mode. The peers are in the same process, so that the time says what a round
// trip takes; cpu-ns/op is of all three.
func BenchmarkRelay(b *testing.B) {
	k := newPKI(b)
	for _, m := range []struct {
		name   string
		secure mode
	}{{"plaintext", mode{}}, {"TLS", mode{true, true}}} {
		for _, size := range []int{1 << 10, 64 << 10, 4 << 20} {
			for _, direct := range []bool{true, false} {
				name := m.name + "/" + sizeName(size)
				if direct {
					name += "/direct"
				}
				b.Run(name, func(b *testing.B) { benchmarkRelay(b, k, m.secure, size, direct) })
			}
		}
	}
}

func sizeName(n int) string {
	if n >= 1<<20 {
		return "4MiB"
	}
	return map[int]string{1 << 10: "1KiB", 64 << 10: "64KiB"}[n]
}

func benchmarkRelay(b *testing.B, k *pki, secure mode, size int, direct bool) {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer up.Close()
	go func() {
		for {
			nc, err := up.Accept()
			if err != nil {
				return
			}
			if secure.server {
				nc = tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{k.upstream.TLS()}, NextProtos: []string{"h2"}})
			}
			go func() {
				defer nc.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := nc.Read(buf)
					if err != nil {
						return
					}
					if _, err := nc.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	addr := up.Addr().String()
	if !direct {
		pair := Pair{Listen: loopback, Upstream: Addr{"tcp", addr}}
		if secure.client {
			pair.ListenTLS = &ListenTLS{Cert: k.listenFiles[0], Key: k.listenFiles[1]}
			pair.UpstreamTLS = &UpstreamTLS{CA: k.ca, ServerName: "localhost"}
		}
		p, err := Listen(Config{Pairs: []Pair{pair}, Log: new(memoryLog)})
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		ctx := b.Context()
		go func() { done <- p.Serve(ctx) }()
		defer func() { p.Close() }()
		addr = p.Addrs()[0].String()
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if secure.client {
		c = tls.Client(c, &tls.Config{RootCAs: k.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
	}
	// Not HTTP: what the tap costs is measured elsewhere.
	message := slices.Repeat([]byte{0xff}, size)
	back := make([]byte, size)
	b.SetBytes(int64(size))
	before := cpuTime()
	for b.Loop() {
		go c.Write(message)
		if _, err := io.ReadFull(c, back); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
