package console

import "testing"

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/tmp/a-b_c.xdsp": "/tmp/a-b_c.xdsp", "@last": "@last", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a;b": "'a;b'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
