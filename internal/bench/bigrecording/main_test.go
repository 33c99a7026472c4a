package main

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder"
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
