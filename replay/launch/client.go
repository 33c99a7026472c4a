package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/bootstrap/generate"
)

// Client is how a command is run as the client of a play.
type Client struct {
	Argv, Env []string
	// Hint says that a command which does not come may have missed its bootstrap;
	// empty: it has it.
	Hint string
}

// NewClient writes bootstraps for a command into dir, one for Envoy and one for
// gRPC programs, and says how the command is run with them: the path of Envoy's
// is in the place of {}, gRPC's of a client that is one; an Envoy without either
// gets -c, and GRPC_XDS_BOOTSTRAP is set.
func NewClient(argv []string, of *generate.Client, dir, server, admin string) (*Client, error) {
	c := &Client{Argv: slices.Clone(argv), Env: slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GRPC_XDS_BOOTSTRAP=") || strings.HasPrefix(kv, "GRPC_XDS_BOOTSTRAP_CONFIG=")
	})}
	envoy := IsEnvoy(argv)
	grpc := of.GRPC && !envoy
	// What is given with --config-yaml goes over the bootstrap.
	if envoy && !slices.ContainsFunc(argv[1:], func(arg string) bool {
		return arg == "-c" || strings.HasPrefix(arg, "--config-path") || bootstrap.TakesPath(arg)
	}) {
		c.Argv = append(c.Argv, "-c", bootstrap.Placeholder)
	}
	if envoy && !slices.ContainsFunc(argv[1:], func(arg string) bool {
		return strings.HasPrefix(arg, "--base-id") || arg == "--use-dynamic-base-id" || arg == "--disable-hot-restart"
	}) {
		c.Argv = append(c.Argv, "--disable-hot-restart") // for which only one of them may run here
	}
	path := filepath.Join(dir, "grpc.json")
	text, err := of.ForGRPC(server)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	c.Env = append(c.Env, "GRPC_XDS_BOOTSTRAP="+path)
	if !slices.ContainsFunc(c.Argv[1:], bootstrap.TakesPath) {
		within := slices.ContainsFunc(argv[1:], func(arg string) bool { return strings.Contains(arg, bootstrap.Placeholder) })
		if !envoy && (within || !grpc && len(of.Asks) > 0) { // gRPC looks into the environment
			c.Hint = "no word of the command is {}, which becomes the path of the bootstrap"
			if within {
				c.Hint += "; within a word it stays as it is"
			}
		}
		return c, nil
	}
	if !grpc {
		path = filepath.Join(dir, "envoy.json")
		text, err := of.Envoy(server, admin)
		if err != nil {
			return nil, fmt.Errorf("no bootstrap of Envoy can be made: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	bootstrap.Fill(c.Argv, path)
	return c, nil
}

// IsEnvoy says whether a command is an Envoy by its name.
func IsEnvoy(argv []string) bool { return strings.HasPrefix(filepath.Base(argv[0]), "envoy") }
