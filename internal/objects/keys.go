package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxKey is the longest key that S3 has, in bytes.
const maxKey = 1024

// plain says whether a key is a path that means the same everywhere: no part of
// it is empty, hidden as "." and ".." are, or has characters that cannot be shown.
func plain(key string) bool {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
		return false
	}
	for _, r := range key {
		if !unicode.IsPrint(r) || r == '\\' {
			return false
		}
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

func checkKey(key string) error {
	if !plain(key) {
		return &Error{What: fmt.Sprintf("%q is not a key of an object: it has to be a plain path of at most %d bytes", printable(key), maxKey)}
	}
	return nil
}

// What of metadata is taken from a store, and what one takes: S3 allows 2 KB.
const (
	maxMeta      = 8 << 10
	maxMetaTaken = 2 << 10
)

// metaOf is what can be used of metadata from outside.
func metaOf(from map[string]string) map[string]string {
	out, left := map[string]string{}, maxMeta
	for _, key := range slices.Sorted(maps.Keys(from)) {
		value := from[key]
		left -= len(key) + len(value)
		if left < 0 {
			break
		}
		if showable(key) && showable(value) {
			out[strings.ToLower(key)] = value
		}
	}
	return out
}

func showable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// checkMeta refuses metadata that a header field cannot carry.
func checkMeta(meta map[string]string) error {
	size := 0
	for key, value := range meta {
		size += len(key) + len(value)
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return fmt.Errorf("metadata cannot be called %q", key)
		}
		if strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("metadata %s has a value that a header field cannot carry", key)
		}
	}
	if size > maxMetaTaken {
		return fmt.Errorf("%d bytes of metadata are more than the %d that a store takes", size, maxMetaTaken)
	}
	return nil
}
