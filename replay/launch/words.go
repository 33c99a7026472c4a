package launch

import (
	"errors"
	"strings"
)

// Words splits a command as a shell does: at white space that is not in quotes or
// behind a backslash. Nothing else that a shell does is done: no variables, no
// patterns, no pipes.
func Words(text string) ([]string, error) {
	var (
		out    []string
		word   strings.Builder
		within bool // a word, which may be empty
		quote  rune
		escape bool
	)
	for _, r := range text {
		switch {
		case escape:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escape = false
		case r == '\\' && quote != '\'':
			within, escape = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			within, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if within {
				out = append(out, word.String())
				word.Reset()
			}
			within = false
		default:
			within = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote that does not end")
	case escape:
		return nil, errors.New("a backslash with nothing behind it")
	case within:
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, errors.New("no command in it")
	}
	return out, nil
}
