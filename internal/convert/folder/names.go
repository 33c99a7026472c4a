package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	sessionFile  = "session.yaml"
	originalFile = ".original.xdsp"
	resourcesDir = "resources"

	maxName = 96 // bytes of a name in the name of a file
)

// names gives each content a file. The names are those that every file system
// takes, and differ by more than the case of letters.
type names struct {
	stems map[string]string // by type and name: directory and name
	taken map[string]bool   // stems in lower case
	count map[string]int    // of contents, by stem
}

func newNames() *names {
	return &names{stems: map[string]string{}, taken: map[string]bool{}, count: map[string]int{}}
}

// next is the path of the next content of a resource.
func (n *names) next(typ, name string) string {
	key := typ + "\x00" + name
	stem, known := n.stems[key]
	if !known {
		stem = n.stem(typ, name, key)
		n.stems[key] = stem
		n.taken[strings.ToLower(stem)] = true
	}
	n.count[stem]++
	return fmt.Sprintf("%s/%s@%d.yaml", resourcesDir, stem, n.count[stem])
}

func (n *names) stem(typ, name, key string) string {
	dir, _ := safeName(typ)
	safe, same := safeName(name)
	stem := dir + "/" + safe
	if same && !n.taken[strings.ToLower(stem)] {
		return stem
	}
	sum := sha256.Sum256([]byte(key))
	for digits := 8; ; digits *= 2 {
		with := stem + "+" + hex.EncodeToString(sum[:])[:min(digits, 2*len(sum))]
		if !n.taken[strings.ToLower(with)] || digits > 2*len(sum) {
			return with
		}
	}
}

// safeName makes a part of a path of a name; same says that it is the name itself.
func safeName(name string) (safe string, same bool) {
	b := []byte(name[:min(len(name), maxName)])
	for i, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' && (c != '.' || i == 0) {
			b[i] = '_'
		}
	}
	first, _, _ := strings.Cut(strings.ToLower(string(b)), ".")
	switch {
	case len(b) == 0, first == "con", first == "prn", first == "aux", first == "nul",
		len(first) == 4 && (strings.HasPrefix(first, "com") || strings.HasPrefix(first, "lpt")): // devices of Windows
		b = append([]byte{'_'}, b...)
	}
	for len(b) > 1 && b[len(b)-1] == '.' {
		b[len(b)-1] = '_'
	}
	return string(b), string(b) == name
}
