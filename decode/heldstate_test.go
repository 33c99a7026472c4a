package decode

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	"google.golang.org/protobuf/proto"
)

func TestHeldState(t *testing.T) {
	content := []byte{}
	for _, c := range []struct {
		client string
		static bool
		body   []byte
		want   HeldState
	}{
		{"ACKED", false, content, HeldActive},
		{"ACKED", true, content, HeldStatic},
		{"REQUESTED", false, content, HeldWarming},
		{"REQUESTED", false, nil, HeldAwaited},
		{"TIMEOUT", false, nil, HeldTimeout},
		{"NACKED", false, nil, HeldFailed},
		{"RECEIVED_ERROR", false, nil, HeldFailed},
		{"DOES_NOT_EXIST", false, content, HeldDraining},
		{"DOES_NOT_EXIST", false, nil, HeldGone},
		{"UNKNOWN", false, content, HeldUnknown},
		{"17", false, content, HeldUnknown},
	} {
		r := ResourceStatus{Client: c.client, Static: c.static, Body: c.body}
		if got := r.Held(); got != c.want {
			t.Errorf("%s, static %v, content %v: %s, want %s", c.client, c.static, c.body != nil, got, c.want)
		}
	}
}

func unreadyOf(tb testing.TB, name string, targets ...string) []byte {
	tb.Helper()
	b, err := proto.Marshal(&adminv3.UnreadyTargetsDumps{UnreadyTargetsDumps: []*adminv3.UnreadyTargetsDumps_UnreadyTargetsDump{{Name: name, TargetNames: targets}}})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestPeekUnready(t *testing.T) {
	got := PeekUnready(append(unreadyOf(t, "cluster a", "EDS a", "SDS b"), unreadyOf(t, "listener")...))
	if len(got) != 2 || got[0].Of != "cluster a" || !slices.Equal(got[0].Targets, []string{"EDS a", "SDS b"}) || got[1].Of != "listener" || got[1].Targets != nil {
		t.Errorf("%+v", got)
	}
	long := PeekUnready(unreadyOf(t, strings.Repeat("x", 1000), slices.Repeat([]string{"t"}, 1000)...))
	if len(long) != 1 || len(long[0].Of) != maxUnreadyName || len(long[0].Targets) != maxUnready {
		t.Errorf("%d", len(long))
	}
	if many := PeekUnready(bytes.Repeat(unreadyOf(t, "x"), 1000)); len(many) != maxUnready {
		t.Errorf("%d parts", len(many))
	}
}

func FuzzPeekUnready(f *testing.F) {
	f.Add(unreadyOf(f, "cluster a", "EDS a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, u := range PeekUnready(data) {
			if len(u.Of) > 3*maxUnreadyName || strings.ToValidUTF8(u.Of, "") != u.Of {
				t.Errorf("%q", u.Of)
			}
		}
	})
}
