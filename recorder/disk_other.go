//go:build !linux

package recorder

import "os"

// disk is the file of a recording.
type disk struct{ *os.File }
