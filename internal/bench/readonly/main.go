// readonly reads a recording and does nothing with it, to see what a command
// that judges or shows it could cost at the least. It prints how many entries
// there are or, with -zstd, how many bytes its blocks have, which it then only
// decompresses.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder"
)

func main() {
	plain := flag.Bool("zstd", false, "decompress the blocks, and make no entries of them")
	flag.Parse()
	read := entries
	if *plain {
		read = bytes
	}
	n, err := read(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "readonly:", err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func entries(file string) (n int64, err error) {
	r, err := recorder.Open(file)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	r.Pieces()
	for {
		switch _, err := r.Next(context.Background()); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return 0, err
		}
		n++
	}
}

// bytes takes a recording for what it is to zstd: frames, of which some are
// skipped.
func bytes(file string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	return io.Copy(io.Discard, d)
}
