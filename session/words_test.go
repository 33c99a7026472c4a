package session

import (
	"testing"
)

// The words of kinds and sides are those of the machine-readable forms.
func TestWords(t *testing.T) {
	want := []string{"unknown", "connect", "open", "header", "message", "half-close", "trailer", "cancel", "goaway", "disconnect", "gap", "note", "time", "held", "unknown", "unknown"}
	for k, w := range want {
		if Kind(k).String() != w {
			t.Errorf("kind %d is %s, want %s", k, Kind(k), w)
		}
	}
	if Kind(255).String() != "unknown" {
		t.Errorf("kind 255 is %s", Kind(255))
	}
	for s, w := range map[Side][2]string{SideUnknown: {"unknown", "unknown"}, Client: {"client", "server"}, Server: {"server", "client"}, Proxy: {"proxy", "proxy"}, 9: {"unknown", "unknown"}} {
		if s.String() != w[0] || s.Opposite().String() != w[1] {
			t.Errorf("side %d is %s, opposite of %s", s, s, s.Opposite())
		}
	}
	for c, chosen := range map[GapCause]bool{Lost: false, Cut: true, CutBare: true} {
		if c.Chosen() != chosen {
			t.Errorf("cause %d was chosen: %v", c, !chosen)
		}
	}
	fields := []Field{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}, {Name: "a", Value: "3"}}
	if Get(fields, "a") != "1" || Get(fields, "b") != "2" || Get(fields, "c") != "" || Get(nil, "a") != "" {
		t.Errorf("%q, %q", Get(fields, "a"), Get(fields, "b"))
	}
}

// A message that is very long is not read, whether all of it is there or not.
func TestLargeMessages(t *testing.T) {
	half := make([]byte, MostRead/2)
	for _, c := range []struct {
		m     Message
		large bool
	}{
		{Message{Size: 1, Data: Chunks{half[:1]}}, false},
		{Message{Size: MostRead, Data: Chunks{half, half}}, false},
		{Message{Size: MostRead, Data: Chunks{half, half, half[:1]}}, true},
		{Message{Size: MostRead + 1, Data: Chunks{half}}, true},
		{Message{Size: MostRead + 1, Data: Chunks{half}, Truncated: true}, false},
		{Message{Size: MostRead + 1, Data: Chunks{half, half, half[:1]}, Truncated: true}, true},
	} {
		if c.m.Large() != c.large || (c.m.Unread() == "") != !c.large && !c.m.Compressed || c.m.Whole() != (!c.large && !c.m.Truncated) {
			t.Errorf("of %d bytes %d are there: large %v, unread %q, whole %v", c.m.Size, c.m.Data.Len(), c.m.Large(), c.m.Unread(), c.m.Whole())
		}
	}
	m := Message{Size: 1, Data: Chunks{half[:1]}, Compressed: true}
	if m.Unread() == "" || m.Whole() {
		t.Errorf("what is compressed is read: %q", m.Unread())
	}
}
