package bootstrap

import (
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// findGRPC looks at the servers of a bootstrap of gRPC: the default ones and
// those of each authority.
func (d *Document) findGRPC() error {
	if d.format != inJSON {
		return errors.New("a bootstrap of gRPC, but not in JSON, which is all that gRPC reads")
	}
	d.grpcServers(member(d.root, "xds_servers"), "", "xds_servers")
	authorities := member(d.root, "authorities")
	if authorities == nil || authorities.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(authorities.Content); i += 2 {
		name := authorities.Content[i].Value
		d.grpcServers(member(authorities.Content[i+1], "xds_servers"), name, "authorities."+name+".xds_servers")
	}
	return nil
}

func (d *Document) grpcServers(list *yaml.Node, authority, path string) {
	for i, n := range items(list) {
		uri := member(n, "server_uri")
		if text(uri) == "" {
			continue // gRPC refuses it
		}
		s := toTarget(uri)
		s.Uses = []Use{{What: "ADS", Path: path + "[" + strconv.Itoa(i) + "]"}}
		if authority != "" {
			s.Names = []string{authority}
		}
		if s.Obstacle == nil {
			s.Obstacle = credentials(member(n, "channel_creds"))
		}
		d.add(s)
	}
}

// credentials looks at channel_creds: a client takes the first kind that it
// knows and skips the others.
func credentials(list *yaml.Node) *Obstacle {
	for _, c := range items(list) {
		switch text(member(c, "type")) {
		case "insecure":
			return nil
		case "tls", "google_default":
			return secured()
		}
	}
	return &Obstacle{Why: "it has no channel_creds that are known here"}
}
