package bootstrap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
)

// Files are found where Envoy subscribes to them, and nowhere else; in a bootstrap and
// in what /config_dump says of it.
func TestFileSources(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []bootstrap.FileSource
	}{
		"paths": {`
dynamic_resources:
  lds_config: {path_config_source: {path: /e/lds.yaml, watched_directory: {path: /e}}}
  cdsConfig: {pathConfigSource: {path: /e/cds.yaml}}
admin: {access_log: [{name: x, typed_config: {"@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, path: /dev/stdout}}], address: {pipe: {path: /run/a}}}
`, []bootstrap.FileSource{{Path: "/e/lds.yaml", Directory: "/e"}, {Path: "/e/cds.yaml"}}},
		"the older form": {`
dynamic_resources: {cds_config: {path: /e/cds.yaml}, lds_config: {ads: {}}}
static_resources:
  clusters:
  - {name: a, type: EDS, eds_cluster_config: {eds_config: {path: /e/eds.yaml}}}
`, []bootstrap.FileSource{{Path: "/e/cds.yaml"}, {Path: "/e/eds.yaml"}}},
		"secrets": {`
static_resources:
  listeners:
  - filter_chains:
    - transport_socket: {typed_config: {common_tls_context: {tls_certificate_sds_secret_configs: [{name: key, sds_config: {path_config_source: {path: sds.yaml}}}]}}}
`, []bootstrap.FileSource{{Path: "sds.yaml"}}},
		"a dump":   {`{"configs": [{"bootstrap": {"dynamic_resources": {"cds_config": {"path_config_source": {"path": "/e/cds.yaml"}}}}}]}`, []bootstrap.FileSource{{Path: "/e/cds.yaml"}}},
		"no files": {"static_resources: {}", nil},
		"too many": {"static_resources:\n" + strings.Repeat("- path_config_source: {path: /a}\n", 1001), slices.Repeat([]bootstrap.FileSource{{Path: "/a"}}, 1000)},
	} {
		got, err := bootstrap.FileSources("x", []byte(c.text))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %d, %.300s, %v; want %d, %.300s", name, len(got), fmt.Sprint(got), err, len(c.want), fmt.Sprint(c.want))
		}
	}
	for _, text := range []string{"a: b", "- a", "", `{"xds_servers": []}`, "a: [", `dynamic_resources: &a [*a]`} {
		if got, err := bootstrap.FileSources("x", []byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzFileSources(f *testing.F) {
	f.Add("x", []byte("dynamic_resources: {cds_config: {path_config_source: {path: a, watched_directory: {path: b}}}}"))
	f.Add("x.json", []byte(`{"configs": [{"bootstrap": {"dynamic_resources": {"cds_config": {"path": "/e/cds.yaml"}}}}]}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		got, err := bootstrap.FileSources(name, text)
		for _, s := range got {
			if s.Path == "" || err != nil {
				t.Fatalf("%v, %v", got, err)
			}
		}
	})
}
