package facts

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

func TestInfo(t *testing.T) {
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	whole := &Info{
		Schema: render.Schema, Format: "xdsp", Complete: true, Entries: 12345, Messages: 11800, Streams: 3, Connections: 2,
		First: render.Timestamp(first), Last: render.Timestamp(first.Add(761 * time.Second)), Bytes: 41 << 20, MessageBytes: 3 << 30,
		Masked: true, Clients: new(2), Program: "xdsproxy v1.0.0", Name: "session\x1b.xdsp", From: first, To: first.Add(761 * time.Second),
	}
	torn := &Info{Schema: render.Schema, Format: "xdsp", Gaps: 1, Lost: 240, Name: "torn.xdsp"}
	hurt := &Info{Schema: render.Schema, Format: "xdsp", Damaged: true, Name: "hurt.xdsp"}
	golden.Is(t, "testdata/info.txt", whole.Text(render.Style{})+"\n"+torn.Text(render.Style{})+"\n"+hurt.Text(render.Style{Color: true}))
}
