package bootstrap

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// search goes through a bootstrap of Envoy.
type search struct {
	*Document
	contexts contexts
	clusters map[string]*cluster
	order    []*cluster
	// named are the scalars by which an xDS source names its cluster.
	named map[*yaml.Node]bool
}

// cluster is a static cluster, and what is wanted of it.
type cluster struct {
	name  string
	node  *yaml.Node // nil: the bootstrap does not define it
	uses  []Use
	other string // a place that uses it for something else than xDS; "" if none
}

func (d *Document) findEnvoy(read func(path string) ([]byte, error)) error {
	s := &search{Document: d, contexts: contexts{root: d.root, files: &files{read: read}}, clusters: map[string]*cluster{}, named: map[*yaml.Node]bool{}}
	for _, n := range items(field(field(d.root, "static_resources"), "clusters")) {
		if name := text(field(n, "name")); name != "" && s.clusters[name] == nil {
			s.clusters[name] = &cluster{name: name, node: n}
		}
	}
	d.Clusters = staticClusters(d.root)
	s.walk(d.root, nil, s.source)
	if len(d.Servers) > maxServers || len(s.order) > maxServers {
		return errServers
	}
	s.walk(d.root, nil, s.traffic)
	for _, c := range s.order {
		wrapped := false
		for _, server := range s.servers(c) {
			d.add(server)
			wrapped = wrapped || server.Obstacle == nil
		}
		if len(d.Servers) > maxServers {
			return errServers
		}
		if !wrapped {
			continue
		}
		if c.other != "" {
			d.warn("cluster %q carries other traffic, too (%s); it passes the proxy as well", c.name, c.other)
		}
		if checksElsewhere(c.node) {
			d.warn("cluster %q checks health at a port of its own, which the proxy does not have: its endpoints will look ill", c.name)
		}
	}
	return nil
}

// way is how one gets to a value from the root, which is nil. It becomes a text
// only where somebody wants to read it: names may be long, and there are many.
type way struct {
	from *way
	name string // of a field; "" for an element of a list
	at   int    // of an element
}

// String has at most a hundred bytes of each name.
func (w *way) String() string {
	switch {
	case w == nil:
		return ""
	case w.name == "":
		return w.from.String() + "[" + strconv.Itoa(w.at) + "]"
	}
	return strings.TrimPrefix(w.from.String()+"."+lenient.Clipped(w.name), ".")
}

// under says whether a field on the way has some text in its name.
func (w *way) under(text string) bool {
	return w != nil && (strings.Contains(w.name, text) || w.from.under(text))
}

// walk visits every field of the document with its name, its place and the
// place of the message it belongs to.
func (s *search) walk(n *yaml.Node, path *way, visit func(name string, path, parent *way, value *yaml.Node)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			name := snake(key.Value)
			if lenient.Ignored(key) || path == nil && name == "node" {
				continue
			}
			at := &way{from: path, name: name}
			visit(name, at, path, value)
			s.walk(value, at, visit)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			s.walk(c, &way{from: path, at: i}, visit)
		}
	}
}

// source looks for messages of type ApiConfigSource. These four fields are all
// that have it; a ConfigSource has the first of them.
func (s *search) source(name string, path, parent *way, n *yaml.Node) {
	use := Use{What: "xDS"}
	switch name {
	case "api_config_source":
		use.What, path = wanted(parent.String()), parent
	case "ads_config":
		use.What = "ADS"
	case "hds_config":
		use.What = "HDS"
	case "load_stats_config":
		use.What = "LRS"
	default:
		return
	}
	use.Path = path.String()
	for _, service := range items(field(n, "grpc_services")) {
		if target := field(field(service, "google_grpc"), "target_uri"); target != nil {
			s.google(field(service, "google_grpc"), target, use)
		}
		s.cluster(field(field(service, "envoy_grpc"), "cluster_name"), use)
	}
	for _, name := range items(field(n, "cluster_names")) {
		s.cluster(name, use)
	}
}

// wanted tells from the place of a ConfigSource what it is for.
func wanted(path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	for _, known := range []string{"lds", "cds", "eds", "sds", "rtds", "leds", "odcds", "rds", "vhds", "scoped_rds"} {
		if strings.HasPrefix(last, known+"_config") {
			return strings.ToUpper(known)
		}
	}
	switch {
	case last == "lrs_server":
		return "LRS"
	case strings.HasSuffix(path, ".rds.config_source"):
		return "RDS"
	case strings.HasSuffix(path, ".vhds.config_source"):
		return "VHDS"
	case strings.HasSuffix(path, ".config_discovery.config_source"):
		return "ECDS"
	}
	return "xDS"
}

func (s *search) cluster(name *yaml.Node, use Use) {
	if text(name) == "" {
		return
	}
	s.named[name] = true
	c := s.clusters[name.Value]
	if c == nil {
		c = &cluster{name: name.Value}
		s.clusters[c.name] = c
	}
	if len(c.uses) == 0 {
		s.order = append(s.order, c)
	}
	c.uses = addUse(c.uses, use)
}

// addUse notes a use, if there are not very many: they only say what a server is
// for.
func addUse(uses []Use, u Use) []Use {
	if len(uses) >= maxUses || slices.Contains(uses, u) {
		return uses
	}
	return append(uses, u)
}

// traffic looks for other users of the clusters that lead to xDS servers.
func (s *search) traffic(name string, path, parent *way, n *yaml.Node) {
	switch {
	case name == "cluster_name" && parent != nil && strings.HasSuffix(parent.name, "load_assignment"):
		return
	case name == "cluster", name == "clusters", strings.HasSuffix(name, "_cluster"), strings.HasSuffix(name, "cluster_name"):
	case name == "name" && parent.under("weighted_clusters"):
	default:
		return
	}
	for _, v := range append(items(n), n) {
		c := s.clusters[text(v)]
		if c != nil && !s.named[v] && len(c.uses) > 0 && c.other == "" {
			c.other = path.String()
		}
	}
}
