package bootstrap

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// files are those that a bootstrap refers to. Each is read once, and all of them
// together are no larger than a bootstrap may be.
type files struct {
	read  func(path string) ([]byte, error) // nil: none can be
	trees map[string]*yaml.Node
	size  int
}

func (f *files) tree(path string) (*yaml.Node, error) {
	if root := f.trees[path]; root != nil {
		return root, nil
	}
	if f.size > MaxSize {
		return nil, fmt.Errorf("more than %d MiB of files", MaxSize>>20)
	}
	data, err := f.read(path)
	f.size += len(data)
	if err != nil {
		return nil, fmt.Errorf("a file that cannot be read: %w", err)
	}
	root, _, err := parseTree(path, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.trees == nil {
		f.trees = map[string]*yaml.Node{}
	}
	f.trees[path] = root
	return root, nil
}

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
	case r.files.read == nil:
		return nil, unreadf("its %s comes by SDS from the file %s", what, path)
	}
	root, err := r.files.tree(path)
	if err != nil {
		return nil, unreadf("its %s comes by SDS from %v", what, err)
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
