package main

import (
	"io"
	"net"
	"testing"
)

func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestEveryResponseArrivesAndIsAcknowledged(t *testing.T) {
	for name, c := range map[string]config{
		"state of the world": {streams: 4, conns: 2, clusters: 3, pushes: 10},
		"changing clusters":  {streams: 2, conns: 1, clusters: 5, pushes: 10, entropy: 32, churn: 2},
		"incremental":        {streams: 2, conns: 1, clusters: 5, pushes: 10, delta: true, churn: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.listen = address(t)
			c.target = c.listen
			res, err := run(c)
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(c.streams * c.pushes); res.Responses != want || res.Damaged != 0 || res.Nacks != 0 || res.StreamsFailed != 0 {
				t.Errorf("got %+v, want %d responses and nothing wrong", res, want)
			}
		})
	}
}

// A relay that changes the body but not its checksum must not go unnoticed.
func TestDamageIsCounted(t *testing.T) {
	c := config{streams: 1, conns: 1, clusters: 1, pushes: 3, listen: address(t), target: address(t)}
	l, err := net.Listen("tcp", c.target)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", c.listen)
		if err != nil {
			return
		}
		defer server.Close()
		go io.Copy(server, client)
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			for i := range n - 1 {
				if buf[i] == 'x' && buf[i+1] == 'x' { // inside alt_stat_name
					buf[i] = 'y'
				}
			}
			if _, werr := client.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}()
	res, err := run(c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Damaged != 3 {
		t.Errorf("counted %d damaged responses, want 3", res.Damaged)
	}
}
