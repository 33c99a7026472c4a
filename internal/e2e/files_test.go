package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/file"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Of a file, Envoy makes what package file says: it takes it or not, finds the
// same clusters in it, and counts what it leaves out.
func TestFilesAsEnvoyReadsThem(t *testing.T) {
	t.Parallel()
	const head = "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  connect_timeout: 1s\n"
	for name, text := range map[string]string{
		"plain.yaml":  head + "  name: c1\n",
		"UPPER.YML":   head + "  name: c1\n",
		"typo.yaml":   head + "  name: c1\n  conect_timeout: 2s\n",
		"enum.yaml":   head + "  name: c1\n  type: STRICT_DSN\n",
		"lower.yaml":  head + "  name: c1\n  type: strict_dns\n  dns_lookup_family: v4_only\n",
		"twice.yaml":  head + "  name: c1\n  name: c2\n",
		"camel.yaml":  head + "  name: c1\n  connectTimeout: 2s\n",
		"plus.yaml":   head + "  name: c1\n  per_connection_buffer_limit_bytes: +8\n",
		"oneof.yaml":  head + "  name: c1\n  type: EDS\n  cluster_type: {name: x}\n",
		"float.yaml":  head + "  name: c1\n  per_connection_buffer_limit_bytes: 1.0\n",
		"null.yaml":   head + "  name: c1\n  circuit_breakers: ~\n  health_checks: null\n",
		"comma.json":  `{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"a","connect_timeout":"1s",}]}`,
		"empty.yaml":  "",
		"empty.json":  "{}",
		"camel.json":  `{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"a","connect_timeout":"1s","connectTimeout":"2s",},]}`,
		"two.yaml":    head + "  name: c1\n---\nnonsense: 1\n",
		"no.yaml":     head + "  name: no\n",
		"number.yaml": head + "  name: 17\n",
		"hex.yaml":    head + "  name: 0x1G\n  per_connection_buffer_limit_bytes: 0x10\n",
		"list.yaml":   "- a\n",
		"type.yaml":   head + "  name: c1\n- {\"@type\": type.googleapis.com/foo.Bar}\n",
		"twice.json":  `{"resources":[{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"a","name":"b","connect_timeout":"1s"}]}`,
		"text.pb_text": `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {
			name: "c1" connect_timeout { seconds: 1 } } }`,
		"typo.pb_text": `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "c1" typo: 1 } }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			e := startEnvoy(t, variant{dynamic: object{"cds_config": object{"path_config_source": object{"path": path}}}}, "files", "127.0.0.1:1")
			stats, err := get("http://" + e.admin + "/stats")
			if err != nil {
				t.Fatal(err)
			}
			counter := func(name string) int {
				m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `: (\d+)$`).FindStringSubmatch(stats)
				if m == nil {
					t.Fatalf("there is no %s", name)
				}
				n, _ := strconv.Atoi(m[1])
				return n
			}
			clusters, err := get("http://" + e.admin + "/clusters")
			if err != nil {
				t.Fatal(err)
			}
			var theirs []string
			for _, m := range regexp.MustCompile(`(?m)^(.*)::observability_name::`).FindAllStringSubmatch(clusters, -1) {
				if m[1] != xdsCluster {
					theirs = append(theirs, m[1])
				}
			}

			c, failure := file.Read(name, []byte(text))
			if taken := counter("cluster_manager.cds.update_success") == 1; taken != (failure == nil) {
				t.Fatalf("Envoy took it: %t; we say %v", taken, failure)
			}
			if failure != nil {
				return
			}
			leftOut := 0
			for _, w := range c.Warnings {
				if strings.Contains(w.Hint, "dynamic_unknown_fields") {
					leftOut++
				}
			}
			if counted := counter("server.dynamic_unknown_fields"); (counted > 0) != (leftOut > 0) {
				t.Errorf("Envoy left out %d, we %d: %v", counted, leftOut, c.Warnings)
			}
			if err := proto.Unmarshal(c.Response, new(discovery.DiscoveryResponse)); err != nil {
				t.Fatal(err)
			}
			var ours []string
			m := decode.Peek(xds.LookupMethod("file:"+name), session.Server, "", c.Response)
			for _, r := range m.Resources {
				ours = append(ours, r.Name)
			}
			if !slices.Equal(theirs, ours) {
				t.Errorf("Envoy has the clusters %q, and we %q", theirs, ours)
			}
		})
	}
}
