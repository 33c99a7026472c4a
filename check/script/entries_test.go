package script

import "testing"

func parseText(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
