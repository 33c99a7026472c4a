package input

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// OneClient finds the client that was asked for: by its name, by a part of it
// that only one has, or the only one.
func OneClient(all []engine.ClientStatus, asked string) (string, error) {
	var found []string
	for _, c := range all {
		if c.Client == asked {
			return asked, nil
		}
		if strings.Contains(c.Client, asked) {
			found = append(found, c.Client)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return "", console.Failed("no client has asked for anything")
	case len(found) == 0:
		return "", console.Failed("there is no client %q", asked).Hint("the clients are %s", someClients(all))
	case asked == "":
		return "", console.Misused("there are %d clients: which one?", len(all)).Hint("the clients are %s", someClients(all))
	}
	return "", console.Misused("%q fits %d clients", asked, len(found)).Hint("they are %s", strings.Join(found[:min(len(found), 8)], ", "))
}

func someClients(all []engine.ClientStatus) string {
	var names []string
	for i, c := range all {
		if i == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, c.Client)
	}
	return strings.Join(names, ", ")
}
