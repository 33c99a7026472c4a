package replaytest

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// A deadline that is over ends a read, and one that was taken back never does.
func TestDeadlines(t *testing.T) {
	l := Listen()
	defer l.Close()
	dialed := make(chan net.Conn, 1)
	go func() { // which ends when it is accepted
		client, err := l.DialContext(t.Context())
		if err != nil {
			t.Error(err)
		}
		dialed <- client
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client := <-dialed
	defer client.Close()
	b := make([]byte, 1)
	for range 2000 {
		over := make(chan error, 1)
		go func() {
			_, err := c.Read(b)
			over <- err
		}()
		_ = c.SetReadDeadline(time.Now().Add(-time.Hour))
		_ = c.SetReadDeadline(time.Time{})
		if _, err := client.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err) // one that was over while it read may have ended it
		} else if err != nil {
			if _, err := c.Read(b); err != nil {
				t.Fatalf("a deadline that was taken back ends the next read, too: %v", err)
			}
		}
	}
	for range 2000 { // nobody reads while the deadline stands
		_ = c.SetReadDeadline(time.Now().Add(-time.Hour))
		_ = c.SetReadDeadline(time.Time{})
		time.AfterFunc(50*time.Microsecond, func() { _, _ = client.Write(b) })
		if _, err := c.Read(b); err != nil {
			t.Fatalf("a deadline that was taken back ends a read: %v", err)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one that is over: %v", err)
	}
}
