package bootstrap

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// secret finds what an SdsSecretConfig leads to: a secret of a kind, in the
// bootstrap itself or in a file. What a server sends, Envoy alone is to have.
func (r contexts) secret(n *yaml.Node, kind string) (*yaml.Node, error) {
	name, source := text(field(n, "name")), field(n, "sds_config")
	path := text(field(field(source, "path_config_source"), "path"))
	if path == "" {
		path = text(field(source, "path"))
	}
	what := map[string]string{"tls_certificate": "certificate", "validation_context": "trusted roots"}[kind]
	switch {
	case source == nil || source.ShortTag() == "!!null":
		for _, s := range items(field(field(r.root, "static_resources"), "secrets")) {
			if secret := field(s, kind); secret != nil && text(field(s, "name")) == name {
				return secret, nil
			}
		}
		return nil, unreadf("its %s is the static secret %q, which the bootstrap does not have", what, name)
	case path == "":
		return nil, unreadf("its %s comes by SDS from a server (%s)", what, name)
	case r.read == nil:
		return nil, unreadf("its %s comes by SDS from the file %s", what, path)
	}
	data, err := r.read(path)
	if err != nil {
		return nil, unreadf("its %s comes by SDS from a file that cannot be read: %v", what, err)
	}
	root, _, err := parseTree(path, data)
	if err != nil {
		return nil, unreadf("its %s comes by SDS from %s: %v", what, path, err)
	}
	for _, s := range items(field(root, "resources")) {
		if strings.HasSuffix(text(member(s, "@type")), ".tls.v3.Secret") && text(field(s, "name")) == name {
			if secret := field(s, kind); secret != nil {
				return secret, nil
			}
		}
	}
	return nil, unreadf("its %s comes by SDS from %s, which has no secret %q with one", what, path, name)
}
