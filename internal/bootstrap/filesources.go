package bootstrap

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// FileSource is a file that Envoy subscribes to.
type FileSource struct {
	Path      string
	Directory string // its watched_directory; "" if it has none
}

// maxFileSources bounds those of one bootstrap.
const maxFileSources = 1000

// FileSources are the files that a bootstrap of Envoy, or its /config_dump, names
// as sources of configuration: in a path_config_source, or in the path that was
// there before it.
func FileSources(name string, data []byte) ([]FileSource, error) {
	root, _, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode || field(root, "static_resources") == nil && field(root, "dynamic_resources") == nil && field(root, "configs") == nil {
		return nil, ErrUnknown
	}
	var out []FileSource
	s := &search{}
	s.walk(root, nil, func(name string, _, parent *way, n *yaml.Node) {
		source := FileSource{}
		switch {
		case len(out) >= maxFileSources:
			return
		case name == "path_config_source":
			source = FileSource{Path: text(field(n, "path")), Directory: text(field(field(n, "watched_directory"), "path"))}
		case name == "path" && parent != nil && (strings.HasSuffix(parent.name, "ds_config") || parent.name == "config_source" || parent.name == "rds_config_source"):
			source.Path = text(n)
		}
		if source.Path != "" {
			out = append(out, source)
		}
	})
	return out, nil
}
