package state_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/convert/state"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

var file = state.File{Name: "dump.json", Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}

func read(t testing.TB, text string) (out []session.Entry, done state.Result, err error) {
	t.Helper()
	if !state.Is([]byte(text[:min(len(text), 64<<10)])) {
		t.Fatalf("it is not taken for a state: %.200s", text)
	}
	done, err = state.Read(strings.NewReader(text), file, func(e *session.Entry) error {
		out = append(out, *e)
		return nil
	})
	return out, done, err
}

// states are what entries say of resources.
func states(entries []session.Entry) (out []string) {
	for i := range entries {
		if entries[i].Kind != session.KindHeld {
			continue
		}
		for _, c := range decode.PeekClientStatus(entries[i].Message.Data.Bytes()).Configs {
			for j := range c.Resources {
				r := &c.Resources[j]
				out = append(out, fmt.Sprintf("%s %s %s %s v=%s %d", entries[i].Held.Node, xds.ShortType(r.TypeURL), r.Name, r.Held(), r.Version, len(r.Body)))
			}
		}
	}
	slices.Sort(out)
	return out
}

// All that the dump of an Envoy says goes there and back.
func TestConfigDump(t *testing.T) {
	text, err := os.ReadFile("../../configdump/testdata/secrets.json")
	if err != nil {
		t.Fatal(err)
	}
	entries, done, err := read(t, string(text))
	if err != nil || len(entries) != 1 || done.By != configdump.ByEnvoy || done.Clients[0].Resources != 12 || !done.Clients[0].Told {
		t.Fatalf("%+v, %v, %d entries", done, err, len(entries))
	}
	if e := &entries[0]; e.Held.Node != "envoy" || e.Held.Source != session.HeldAdmin || !e.Held.Whole || e.Held.Address != "dump.json" || e.Time.Format(time.RFC3339Nano) != "2026-11-23T01:19:03.281Z" {
		t.Errorf("%+v, %+v", e, e.Held)
	}
	d, err := configdump.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range d.Resources {
		r := &d.Resources[i]
		s := r.State
		if r.Derived {
			s = configdump.Static
		}
		want = append(want, fmt.Sprintf("envoy %s %s %s v=%s %d", r.Type, r.Name, s, r.Version, len(r.Body)))
	}
	slices.Sort(want)
	if got := states(entries); !slices.Equal(got, want) {
		t.Errorf("it is\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	one        = `{"typeUrl":"` + clusterURL + `","name":"a","versionInfo":"1","xdsConfig":{"@type":"` + clusterURL + `","name":"a"},"lastUpdated":"2026-01-02T03:04:05Z","clientStatus":"ACKED"}`
)

// An answer of CSDS may be of several clients, and in both spellings; those of one node
// are one client.
func TestCSDS(t *testing.T) {
	entries, done, err := read(t, ` {"config":[
		{"node":{"id":"x"},"genericXdsConfigs":[`+one+`,
			{"typeUrl":"`+clusterURL+`","name":"b","clientStatus":"REQUESTED"},
			{"typeUrl":"`+clusterURL+`","name":"c","versionInfo":"1","xdsConfig":{"@type":"`+clusterURL+`","name":"c"},"clientStatus":"NACKED",
				"errorState":{"details":"why not","versionInfo":"2","failedConfiguration":{"@type":"`+clusterURL+`","name":"c","connectTimeout":"1s"}}}]},
		{"node":{"id":"y"},"generic_xds_configs":[
			{"type_url":"`+clusterURL+`","name":"d","client_status":"TIMEOUT"},
			{"type_url":"`+clusterURL+`","name":"e","client_status":2},
			{"type_url":"`+clusterURL+`","name":"f","is_static_resource":true,"client_status":"ACKED","xds_config":{"@type":"`+clusterURL+`","name":"f"}},
			{"type_url":"t/unheard.of.Type","name":"g","client_status":"ACKED","xds_config":{"@type":"t/unheard.of.Type","a":1}}]},
		{"node":{"id":"x"},"xdsConfig":[{}],"genericXdsConfigs":[{"typeUrl":"`+clusterURL+`","name":"z","clientStatus":"ACKED","xdsConfig":{"@type":"`+clusterURL+`","name":"z"}}]}]}`)
	want := []string{
		"x CDS a active v=1 3", "x CDS b awaited v= 0", "x CDS c active v=1 3", "x CDS c error v= 0", "x CDS z active v= 3",
		"y CDS d timeout v= 0", "y CDS e gone v= 0", "y CDS f static v= 3", "y Type g active v= 0",
	}
	if got := states(entries); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, it is\n%s\nand not\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(entries) != 2 || done.Messages != 2 || done.By != configdump.ByCSDS || done.Clients[1].Told || !done.Clients[1].At.Equal(file.Time) || done.Clients[1].Unread != 1 {
		t.Fatalf("%+v", done)
	}
	// In the order of their times: that of x says when.
	if entries[0].Held.Node != "x" || entries[0].Held.Source != session.HeldCSDS || entries[0].Time.Month() != time.January {
		t.Errorf("%+v", entries[0].Held)
	}
	if said := strings.Join(done.Notes, "; "); !strings.Contains(said, "before 2021") || !strings.HasPrefix(said, `"x": `) {
		t.Errorf("it says %q", said)
	}
	if m := decode.PeekClientStatus(entries[0].Message.Data.Bytes()); !slices.ContainsFunc(m.Configs[0].Resources, func(r decode.ResourceStatus) bool { return r.Error == "why not" }) {
		t.Errorf("the reason is lost: %+v", m)
	}
	if entries, _, err := read(t, `{"node":{"id":"w"},"genericXdsConfigs":[`+one+`]}`); err != nil || len(states(entries)) != 1 {
		t.Errorf("one ClientConfig: %v, %q", err, states(entries))
	}
}

// The time of a state is that of the last update, where that can be one; else that of
// the file, or now.
func TestTimeOfState(t *testing.T) {
	of := func(stamps ...string) string {
		var all []string
		for i, at := range stamps {
			all = append(all, fmt.Sprintf(`{"typeUrl":"%s","name":"r%d","clientStatus":"ACKED","xdsConfig":{"@type":"%s","name":"r%d"},"lastUpdated":"%s"}`, clusterURL, i, clusterURL, i, at))
		}
		return `{"config":[{"node":{"id":"x"},"genericXdsConfigs":[` + strings.Join(all, ",") + `]}]}`
	}
	for _, c := range []struct {
		stamps []string
		want   string
		told   bool
	}{
		{[]string{"2026-01-02T03:04:05Z", "2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z"}, "2026-01-03T00:00:00Z", true},
		{[]string{"1970-01-01T00:00:01Z"}, "1970-01-01T00:00:01Z", true},
		{[]string{"1969-12-31T00:00:00Z"}, "2026-05-04T03:02:01Z", false},
		{[]string{"2200-12-31T00:00:00Z", "2201-01-01T00:00:00Z"}, "2200-12-31T00:00:00Z", true},
		{nil, "2026-05-04T03:02:01Z", false},
	} {
		entries, done, err := read(t, of(c.stamps...))
		if err != nil || len(entries) != 1 || done.Clients[0].Told != c.told || entries[0].Time.Format(time.RFC3339) != c.want {
			t.Errorf("%v: %+v, %v", c.stamps, done, err)
		}
	}
	before := time.Now()
	done, err := state.Read(strings.NewReader(of()), state.File{Name: "-"}, func(*session.Entry) error { return nil })
	if err != nil || done.Clients[0].Told || done.Clients[0].At.Before(before.Add(-time.Second)) {
		t.Errorf("%+v, %v", done, err)
	}
	stop := fmt.Errorf("stop")
	if _, err := state.Read(strings.NewReader(of()), file, func(*session.Entry) error { return stop }); err != stop {
		t.Error(err)
	}
}

// istiod's dump has no bootstrap. It is what would be sent, and nobody holds it.
func TestIstiod(t *testing.T) {
	entries, done, err := read(t, `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump"},
		{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","versionInfo":"2026/7","dynamicActiveClusters":[
			{"cluster":{"@type":"`+clusterURL+`","name":"a"}},{"cluster":{"@type":"`+clusterURL+`","name":"b"}}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamicListeners":[
			{"name":"l","activeState":{"versionInfo":"2026/7","listener":{"@type":"type.googleapis.com/envoy.config.listener.v3.Listener","name":"l"}}}]}]}`)
	if err != nil || done.By != configdump.ByIstiod || len(entries) != 6 || len(states(entries)) != 0 || done.Messages != 2 || done.Entries != 6 {
		t.Fatalf("%+v, %v, %d entries", done, err, len(entries))
	}
	var got []string
	for i := range entries {
		if e := &entries[i]; e.Kind == session.KindMessage {
			m := decode.Peek(xds.LookupMethod("file:dump.json"), e.Side, "", e.Message.Data.Bytes())
			line := fmt.Sprint(e.Stream, " ", xds.ShortType(m.TypeURL), " ", m.Version)
			for _, r := range m.Resources {
				line += " " + r.Name
			}
			got = append(got, line)
		}
	}
	if want := []string{"1 CDS 2026/7 a b", "2 LDS 2026/7 l"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// Dumps of other versions, and those that end in the middle: what can be read is.
func TestOtherVersions(t *testing.T) {
	entries, done, err := read(t, `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v2alpha.ListenersConfigDump","dynamic_active_listeners":[
		{"version_info":"1","listener":{"@type":"type.googleapis.com/envoy.api.v2.Listener","name":"old"}}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_active_clusters":[
		{"cluster":{"@type":"`+clusterURL+`","name":"new","a_field_of_tomorrow":{"x":1}}},
		{"cluster":{"@type":"type.googleapis.com/envoy.config.cluster.v9.Cluster","name":"newer"}}],"clusters_of_tomorrow":[{"a":1}]},
		{"@type":"type.googleapis.com/envoy.admin.v3.TomorrowConfigDump"}]}`)
	want := []string{" CDS new active v= 5", " Cluster newer active v= 0", " LDS old active v=1 5"}
	if got := states(entries); err != nil || !slices.Equal(got, want) || done.Clients[0].Unread != 2 || len(done.Notes) != 2 {
		t.Errorf("%v, %+v, %q", err, done, got)
	}
	cut := `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_active_clusters":[{"cluster":{"@type":"` + clusterURL + `","name":"a"}},{"clus`
	entries, done, err = read(t, cut)
	if err == nil || !strings.Contains(err.Error(), "in the middle") || len(states(entries)) != 1 || entries[0].Held.Whole {
		t.Errorf("%v, %+v, %q", err, done, states(entries))
	}
}

// FuzzRead: whatever it is, entries are numbered and in the order of time, and what they
// hold can be read.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("../../configdump/testdata/secrets.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"config":[{"node":{"id":"x"},"genericXdsConfigs":[` + one + `,{"clientStatus":4,"errorState":{"failedConfiguration":{}}}]},{}]}`))
	f.Add([]byte(`{"configs":[{"@type":"a/BootstrapConfigDump"},{"@type":"a/ClustersConfigDump","dynamicActiveClusters":[{"cluster":{"@type":"` + clusterURL + `","name":"a"}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var last session.Entry
		var all []session.Entry
		done, _ := state.Read(bytes.NewReader(data), file, func(e *session.Entry) error {
			if e.Seq != last.Seq+1 || e.Time.Before(last.Time) || e.Time.Year() > 2300 {
				t.Fatalf("%+v after %+v", e, last)
			}
			last = *e
			all = append(all, *e)
			return nil
		})
		// What a recording says of them is what the file says.
		var answers []decode.ClientStatus
		for i := range all {
			if all[i].Kind == session.KindHeld {
				answers = append(answers, decode.PeekClientStatus(all[i].Message.Data.Bytes()))
			}
		}
		again := 0
		for _, d := range configdump.OfStatus(answers) {
			again += len(d.Resources)
		}
		if again != len(states(all)) {
			t.Fatalf("%d resources are read again of %d", again, len(states(all)))
		}
		n := 0
		for _, c := range done.Clients {
			n += c.Resources
		}
		if got := len(states(all)); got != n && done.By != configdump.ByIstiod && len(all) > 0 {
			t.Fatalf("%d resources, and %d are told of", n, got)
		}
	})
}
