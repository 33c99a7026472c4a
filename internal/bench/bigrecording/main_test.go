package main

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// A recording has the size that was asked for, and little more, and loses nothing.
func TestWrite(t *testing.T) {
	const size = 3 << 20
	path := filepath.Join(t.TempDir(), "big.xdsp")
	if err := write(path, size, 0, fleetOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := recorder.Inspect(path)
	if err != nil || !f.Complete || f.Lost > 0 || f.Connections != 1000 || f.Messages < size/4200 || f.Bytes < size || f.Bytes > size+64<<20 {
		t.Errorf("%+v, %v", f, err)
	}
}

// A fleet is recorded as of yesterday, so that no entry is in the future.
func TestWriteFleet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.xdsp")
	if err := writeFleet(path, fleetOptions{entries: 5000, rejected: 20}); err != nil {
		t.Fatal(err)
	}
	f, err := recorder.Inspect(path)
	if err != nil || !f.Complete || f.Lost > 0 || f.Connections != fleetClients || f.Entries < 5000 {
		t.Errorf("%+v, %v", f, err)
	}
	if ago := time.Since(f.First); ago < 24*time.Hour || ago > 25*time.Hour || f.Last.After(time.Now()) || f.Last.Before(f.First) {
		t.Errorf("it is from %v to %v", f.First, f.Last)
	}
}

// One of so many answers is a rejection, as was asked for, and none with 0.
func TestRejected(t *testing.T) {
	ads := xds.LookupMethod(adsPath)
	for _, every := range []int{0, 1, 20} {
		path := filepath.Join(t.TempDir(), "fleet.xdsp")
		if err := writeFleet(path, fleetOptions{entries: 5000, rejected: every}); err != nil {
			t.Fatal(err)
		}
		r, err := recorder.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		answers, rejections := 0, 0
		for e, err := r.Next(t.Context()); err != io.EOF; e, err = r.Next(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != session.KindMessage || e.Side != session.Client {
				continue
			}
			switch m := decode.Peek(ads, session.Client, "", e.Message.Data.Bytes()); {
			case m.Error != nil:
				rejections++
				fallthrough
			case m.Nonce != "":
				answers++
			}
		}
		want := 0
		if every > 0 {
			want = answers / every
		}
		if answers < 2000 || rejections < want-1 || rejections > want+1 {
			t.Errorf("with %d: %d of %d answers are rejections", every, rejections, answers)
		}
	}
}
