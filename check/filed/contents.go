package filed

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Contents says of what type the resources of a file are, and which of it is wrong:
// the names that it has more than once, and the other types.
func Contents(m *decode.Message) (typ string, twice, mixed []string) {
	typ = m.TypeURL
	seen := make(map[string]struct{}, len(m.Resources))
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Empty {
			continue
		}
		if typ == "" {
			typ = r.TypeURL
		}
		if r.TypeURL != "" && xds.TypeKey(r.TypeURL) != xds.TypeKey(typ) {
			mixed = append(mixed, r.TypeURL)
		}
		key := decode.NormalName(r.Name)
		if _, again := seen[key+"\x00"+r.Constraints]; again && key != "" {
			twice = append(twice, key)
		}
		seen[key+"\x00"+r.Constraints] = struct{}{}
	}
	return typ, twice, mixed
}

// About is a problem of a file, in which its name stands.
func About(name, problem string) string {
	if strings.HasPrefix(problem, name) {
		return problem
	}
	return name + ": " + problem
}
