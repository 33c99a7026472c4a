//go:build !linux

package e2e

import "testing"

// Elsewhere no socket can hold an address that a listener has.
func reserve(*testing.T, string) {}
