package held

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

// A state that is too long for one entry is several, of which the first says that it
// begins anew.
func TestManyBytes(t *testing.T) {
	d := &configdump.Dump{Node: "n"}
	for _, name := range []string{"a", "b", "c"} {
		d.Resources = append(d.Resources, configdump.Resource{
			Type: "CDS", TypeURL: "type.googleapis.com/envoy.config.cluster.v3.Cluster", Name: name, State: configdump.Active, Body: make([]byte, 100),
		})
	}
	a, err := fromDump(d)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]int{1: 3, 500: 2, 4000: 1} {
		entries := a.entries(d.By, "x", time.Unix(1, 0), true, most)
		n := 0
		for i := range entries {
			e := &entries[i]
			if e.Held.Whole != (i == 0) || e.Held.Node != "n" || e.Message.Size != int64(e.Message.Data.Len()) {
				t.Errorf("entry %d of %d: %+v", i, len(entries), e.Held)
			}
			for _, c := range decode.PeekClientStatus(e.Message.Data.Bytes()).Configs {
				n += len(c.Resources)
			}
		}
		if len(entries) != want || n != 3 {
			t.Errorf("at most %d bytes: %d entries with %d resources", most, len(entries), n)
		}
	}
	if none := a.entries(d.By, "x", time.Unix(1, 0), false, 1); none[0].Held.Whole {
		t.Error("what was cut off is whole")
	}
}
