package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/file"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// The fixtures of decode/file stand in the archive that says what a real Envoy
// does with them; and what it takes, it takes for the same as package file does.
// Each is moved into the place of the last, for one Envoy of each format.
func TestFixturesAsEnvoyReadsThem(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{".json", ".yaml"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "cds"+ending)
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			e := startEnvoy(t, variant{dynamic: object{"cds_config": object{"path_config_source": object{"path": path}}}}, "fixtures", "127.0.0.1:1")
			before := e.files(t)
			for _, archive := range []string{"taken", "leftout", "rejected", "constraint"} {
				a, err := txtar.ParseFile(filepath.Join("..", "..", "decode", "file", "testdata", archive+".txtar"))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range a.Files {
					if filepath.Ext(f.Name) != ending {
						continue
					}
					if err := os.WriteFile(path+".new", f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Rename(path+".new", path); err != nil {
						t.Fatal(err)
					}
					var now filesRead
					eventually(t, "Envoy reads "+f.Name, func() bool {
						now = e.files(t)
						return now.taken+now.rejected > before.taken+before.rejected
					})
					verdict := "rejected"
					if now.taken > before.taken {
						verdict = "taken"
						if now.leftOut > before.leftOut {
							verdict = "leftout"
						}
					}
					before = now
					if verdict != archive && (verdict != "rejected" || archive != "constraint") {
						t.Errorf("%s is in %s.txtar, and Envoy says: %s", f.Name, archive, verdict)
					}
					if verdict == "rejected" {
						continue
					}
					c, err := file.Read(f.Name, f.Data)
					if err != nil {
						t.Errorf("%s: %v", f.Name, err)
						continue
					}
					var ours discovery.DiscoveryResponse
					if err := proto.Unmarshal(c.Response, &ours); err != nil {
						t.Fatal(err)
					}
					theirs := e.clusters(t)
					if !slices.EqualFunc(theirs, known(ours.Resources), func(a, b *anypb.Any) bool { return proto.Equal(a, b) }) {
						t.Errorf("%s: Envoy has %v, and we %v", f.Name, theirs, ours.Resources)
					}
				}
			}
		})
	}
}

// filesRead is what Envoy counts of the files for its clusters.
type filesRead struct{ taken, rejected, leftOut int }

func (e *envoy) files(t *testing.T) filesRead {
	t.Helper()
	stats, err := get("http://" + e.admin + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	count := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `: (\d+)$`).FindStringSubmatch(stats)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	const cds = "cluster_manager.cds.update_"
	return filesRead{taken: count(cds + "success"), rejected: count(cds+"failure") + count(cds+"rejected"), leftOut: count("server.dynamic_unknown_fields")}
}

// clusters are those that Envoy has not had from the beginning.
func (e *envoy) clusters(t *testing.T) []*anypb.Any {
	t.Helper()
	body, err := get("http://" + e.admin + "/config_dump")
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Cluster json.RawMessage `json:"cluster"`
	}
	var dump struct {
		Configs []struct {
			Active  []entry `json:"dynamic_active_clusters"`
			Warming []entry `json:"dynamic_warming_clusters"`
		} `json:"configs"`
	}
	if err := json.Unmarshal([]byte(body), &dump); err != nil {
		t.Fatal(err)
	}
	var out []*anypb.Any
	for _, c := range dump.Configs {
		for _, e := range append(c.Active, c.Warming...) {
			var a anypb.Any
			if err := protojson.Unmarshal(e.Cluster, &a); err != nil {
				t.Fatal(err)
			}
			out = append(out, &a)
		}
	}
	return out
}

// known are the resources, of which an Any with nothing in it is a cluster with
// nothing in it for Envoy.
func known(resources []*anypb.Any) []*anypb.Any {
	for _, r := range resources {
		if r.TypeUrl == "" {
			r.TypeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
		}
	}
	return resources
}
