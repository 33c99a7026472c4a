package check

import "strings"

// isGlob says whether a name stands for all resources below a path, such as
// "xdstp://authority/type/group/*".
func isGlob(name string) bool {
	path, _, _ := strings.Cut(name, "?")
	return strings.HasSuffix(path, "/*")
}

// covers says whether a name is below a glob that is asked for.
func (n *names) covers(name string) bool {
	path, context, more := strings.Cut(name, "?")
	if more {
		context = "?" + context
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if n.has(path[:i] + "/*" + context) {
			return true
		}
	}
	return false
}
