//go:build !unix

package main

import "errors"

// mkfifo cannot: here is none that has a path like a file.
func mkfifo(string) error { return errors.ErrUnsupported }
