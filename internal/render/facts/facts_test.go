package facts

import (
	"strings"
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

// What is not known of a recording is not said, and what makes it less than whole is.
func TestInfoSays(t *testing.T) {
	for _, c := range []struct {
		info       Info
		has, lacks string
	}{
		{Info{Clients: new(3)}, "clients      3\n", "at least"},
		{Info{Clients: new(3), MoreClients: true}, "clients      at least 3\n", ""},
		{Info{}, "clients      unknown\n", "memory"},
		{Info{}, "gaps         none\n", "none, but"},
		{Info{Lost: 1}, "gaps         none, but 1 entry before it, in files that are not here\n", ""},
		{Info{Gaps: 1, Lost: 2}, "gaps         1, 2 entries lost\n", "none"},
		{Info{PastForgotten: new(uint64(0))}, "", "memory"},
		{Info{PastForgotten: new(uint64(1))}, "memory       of what was over, something was forgotten 1 time; see --memory-past\n", ""},
		{Info{PastForgotten: new(uint64(2))}, "something was forgotten 2 times; see", ""},
		{Info{Pairs: []InfoPair{{Listen: "a:1", Upstream: "b:2"}}}, "proxies      a:1 to b:2\n", "written by"},
		{Info{Program: "p"}, "written by   p\n", "proxies"},
	} {
		text := c.info.Text(render.Style{})
		if !strings.Contains(text, c.has) || c.lacks != "" && strings.Contains(text, c.lacks) {
			t.Errorf("%+v:\n%s", c.info, text)
		}
	}
}
