package bootstrap

import "go.yaml.in/yaml/v3"

// StaticClusters are the names of the clusters that an Envoy has from its
// bootstrap: of that itself, or of its /config_dump.
func StaticClusters(name string, data []byte) ([]string, error) {
	root, _, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, ErrUnknown
	}
	if field(root, "static_resources") != nil || field(root, "dynamic_resources") != nil {
		return staticClusters(root), nil
	}
	dump := field(root, "configs")
	if dump == nil {
		return nil, ErrUnknown
	}
	var out []string
	for _, part := range items(dump) {
		out = append(out, staticClusters(field(part, "bootstrap"))...)
		for _, n := range items(field(part, "static_clusters")) {
			out = append(out, text(field(field(n, "cluster"), "name")))
		}
	}
	return out, nil
}

func staticClusters(root *yaml.Node) (out []string) {
	for _, n := range items(field(field(root, "static_resources"), "clusters")) {
		out = append(out, text(field(n, "name")))
	}
	return out
}
