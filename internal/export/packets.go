package export

import (
	"context"
	"os"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/capture"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// packets writes a source as a capture of packets.
func (x *Export) packets(ctx context.Context) (err error) {
	src, err := x.Open(x.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	src.Large()
	src.Pieces()
	f, err := os.OpenFile(x.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return console.Overwriting("cannot write the capture", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = console.Failed("cannot write the capture: %w", closed)
		}
		if err != nil {
			_ = os.Remove(x.Path)
		}
	}()
	to, err := capture.NewWriter(f, build.Name())
	if err != nil {
		return console.Failed("cannot write the capture: %w", err)
	}
	var read error
	for e := range x.Entries(ctx, src, &read) {
		if err := to.Add(&e); err != nil {
			return console.Failed("cannot write the capture: %w", err)
		}
	}
	if read != nil {
		return read
	}
	done, err := to.Close()
	if err != nil {
		return console.Failed("cannot write the capture: %w", err)
	}
	x.Say("wrote %s of %s to %s", render.Count(done.Packets, "packet", "packets"), render.Count(done.Connections, "connection", "connections"), x.Path)
	x.lost(&done)
	if facts := src.Header(); !facts.Masked && !src.Script {
		x.Warn("secrets in it are not masked; mask them first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(x.Name))
	}
	return nil
}

// lost says what the capture has not, or otherwise.
func (x *Export) lost(done *capture.Written) {
	for _, l := range []struct {
		n               uint64
		one, many, rest string
	}{
		{done.Addresses, "connection has", "connections have", " addresses for documentation, since those in the recording are not two of IP"},
		{done.Unbegun, "connection", "connections", " had begun before the recording did"},
		{done.Headless, "stream or response has", "streams or responses have", " headers that say gRPC and no more, since the recording has none"},
		{done.Decompressed, "message was", "messages were", " compressed and is not any more"},
		{done.Truncated, "message is", "messages are", " cut, as in the recording"},
		{done.Bodies, "body", "bodies", " of HTTP/1.1 in chunks, and not compressed"},
		{done.Rewritten, "request has", "requests have", " the header fields of the client, not those that the server got"},
		{done.Comments, "note or gap is a comment", "notes and gaps are comments", " of a packet"},
		{done.Held, "answer", "answers", " about what clients hold left out"},
		{done.Files, "entry of a watched file", "entries of watched files", " left out"},
		{done.Late, "entry", "entries", " left out that came when the stream or connection was over"},
	} {
		if l.n > 0 {
			x.Say("%s%s", render.Count(l.n, l.one, l.many), l.rest)
		}
	}
}
