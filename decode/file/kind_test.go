package file_test

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/file"
)

// What lies beside the files of subscriptions is told from them; what cannot be read
// is not.
func TestKindOf(t *testing.T) {
	for text, want := range map[string]file.Kind{
		head:                                  file.Response,
		`{"versionInfo": "1"}`:                file.Response,
		"{}":                                  file.Response,
		"":                                    file.Response,
		"resources: [":                        file.Response,
		"- a":                                 file.Response,
		"static_resources: {}\nnode: {id: a}": file.Bootstrap,
		`{"dynamicResources": {}}`:            file.Bootstrap,
		"services: {web: {image: x}}":         file.Other,
		"admin: {}":                           file.Other,
		"name: x\nnonce: a":                   file.Response,
	} {
		for _, name := range []string{"a.yaml", "a.YML"} {
			if got := file.KindOf(name, []byte(text)); got != want {
				t.Errorf("%s of %q: %d, want %d", name, text, got, want)
			}
		}
	}
	if got := file.KindOf("a.pb_text", []byte("static_resources {}")); got != file.Response {
		t.Errorf("text: %d", got)
	}
}

// What a file subscribes to is found in the resources in it, at any depth.
func TestSources(t *testing.T) {
	text := `resources:
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: in
  filter_chains:
  - filters:
    - name: hcm
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        rds: {route_config_name: r, config_source: {path_config_source: {path: /e/rds.yaml, watched_directory: {path: /e}}}}
        access_log:
        - {name: f, typed_config: {"@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, path: /dev/stdout}}
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: c
  eds_cluster_config: {eds_config: {path: eds.yaml}}
`
	c, err := file.Read("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []file.Source{{Path: "/e/rds.yaml", Directory: "/e"}, {Path: "eds.yaml"}}
	if got := file.Sources(c.Response); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := file.Sources([]byte("\xff")); got != nil {
		t.Errorf("of no response: %v", got)
	}
}
