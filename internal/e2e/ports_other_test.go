//go:build !linux

package e2e

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/replay/launch"
)

// reserve finds an address at which nobody listens. Elsewhere than on Linux no socket can
// hold one that a listener has.
func reserve(*testing.T) (string, error) { return launch.FreePort() }
