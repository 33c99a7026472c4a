package bootstrap

import (
	"errors"
	"net"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// findGRPC looks at the servers of a bootstrap of gRPC: the default ones and
// those of each authority.
func (d *Document) findGRPC() error {
	if d.format != inJSON {
		return errors.New("a bootstrap of gRPC, but not in JSON, which is all that gRPC reads")
	}
	d.grpcServers(member(d.root, "xds_servers"), "", "xds_servers")
	if authorities := member(d.root, "authorities"); authorities != nil && authorities.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(authorities.Content); i += 2 {
			name := authorities.Content[i].Value
			d.grpcServers(member(authorities.Content[i+1], "xds_servers"), name, "authorities."+lenient.Clipped(name)+".xds_servers")
		}
	}
	if len(d.Servers) > maxServers {
		return errServers
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
			s.credentials(n)
		}
		d.add(s)
	}
}

// credentials looks at channel_creds: a client takes the first kind that it
// knows and skips the others.
func (s *Server) credentials(server *yaml.Node) {
	list := member(server, "channel_creds")
	for _, c := range items(list) {
		switch text(member(c, "type")) {
		case "insecure":
			return
		case "tls":
			t, err := tlsCredentials(member(c, "config"))
			if err != nil {
				s.Obstacle = secured(err.Error())
				return
			}
			if len(items(member(server, "call_creds"))) > 0 {
				s.Obstacle = secured("it has call_creds, which a client sends by TLS only")
				return
			}
			s.secure(t, func() {
				plain := mapping("type", scalar("insecure"))
				*list = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{plain}}
			})
			return
		case "google_default":
			s.Obstacle = googleDefault()
			return
		}
	}
	s.Obstacle = &Obstacle{Why: "it has no channel_creds that are known here"}
}

func googleDefault() *Obstacle {
	return secured("it is asked with Google's default credentials, which a client sends by TLS only")
}

// secure says that the client speaks TLS to the server: bare takes that out of
// the document. The name that the certificate has to be for is that of the
// target, as with all of gRPC, if t has none.
func (s *Server) secure(t *TLS, bare func()) {
	if t.Host == "" {
		t.Host = "localhost" // which a unix socket goes by
		if host, _, err := net.SplitHostPort(s.Address); err == nil && !s.Unix() {
			t.Host = host
		}
	}
	if net.ParseIP(t.Host) == nil {
		t.ServerName = t.Host
	}
	s.TLS = t
	for i := range s.places {
		s.places[i].bare = bare
	}
}

// tlsCredentials reads the config of the kind "tls", which
// https://github.com/grpc/proposal/blob/master/A65-xds-mtls-creds-in-bootstrap.md
// describes.
func tlsCredentials(config *yaml.Node) (*TLS, error) {
	if config != nil && config.Kind != yaml.MappingNode && config.ShortTag() != "!!null" {
		return nil, unreadf("the config of its tls credentials is no object")
	}
	t := &TLS{
		CA:   Material{File: text(member(config, "ca_certificate_file"))},
		Cert: Material{File: text(member(config, "certificate_file"))},
		Key:  Material{File: text(member(config, "private_key_file"))},
	}
	if t.Cert.Given() != t.Key.Given() {
		return nil, unreadf("its tls credentials have but one of certificate_file and private_key_file")
	}
	if config != nil {
		for i := 0; i+1 < len(config.Content); i += 2 {
			switch name := config.Content[i].Value; name {
			case "ca_certificate_file", "certificate_file", "private_key_file", "refresh_interval":
			default:
				return nil, unreadf("its tls credentials have %s, which xdsproxy does not take over", name)
			}
		}
	}
	return t, nil
}
