package wrap

import (
	"fmt"
	"os"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// inPlaceOf is how the proxy speaks TLS with a server in the place of the client
// that the bootstrap is for, which source names. What is in the bootstrap itself
// goes to files whose names begin with base.
func inPlaceOf(s *bootstrap.Server, source, base string) (*proxy.UpstreamTLS, error) {
	t := s.TLS
	up := &proxy.UpstreamTLS{
		ServerName: t.ServerName, Insecure: t.AnyRoot, Source: source,
		Versions: proxy.Versions{Min: t.Min, Max: t.Max},
	}
	if t.Host != "" {
		up.ServerName = t.Host // which is looked for in the certificate, and asked for if it is no address
	} else {
		up.Accepts = t.Accepts
	}
	for _, m := range []struct {
		of   bootstrap.Material
		path *string
		what string
	}{{t.CA, &up.CA, "roots"}, {t.Cert, &up.Cert, "certificate"}, {t.Key, &up.Key, "key"}} {
		var err error
		if *m.path, err = fileOf(m.of, base+"-"+m.what+".pem"); err != nil {
			return nil, err
		}
	}
	return up, nil
}

// fileOf is a file with the material: its own, or path, where it is put.
func fileOf(m bootstrap.Material, path string) (string, error) {
	text := m.Inline
	switch {
	case !m.Given():
		return "", nil
	case m.File != "":
		return m.File, nil
	case m.Variable != "":
		if text = os.Getenv(m.Variable); text == "" {
			return "", fmt.Errorf("its TLS context refers to %s in the environment, which is not set", m.Variable)
		}
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}
