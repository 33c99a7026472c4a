package bootstrap

import "strings"

// Placeholder stands in a command for the path of a bootstrap.
const Placeholder = "{}"

// TakesPath says whether an argument has the placeholder: alone, or as the value
// of a flag. {} within other text is left alone, for it may be JSON.
func TakesPath(arg string) bool {
	return arg == Placeholder || strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "="+Placeholder)
}

// Fill puts a path where the arguments of a command have the placeholder.
func Fill(argv []string, path string) {
	for i, arg := range argv {
		if i > 0 && TakesPath(arg) {
			argv[i] = strings.TrimSuffix(arg, Placeholder) + path
		}
	}
}
