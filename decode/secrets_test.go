package decode

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// plantedTexts are the lines of testdata/secrets.txt with secrets made up for
// them, and the secrets.
func plantedTexts(t testing.TB) (texts, secrets []string) {
	t.Helper()
	place, inBase64 := regexp.MustCompile(`\{(\d+)\}`), regexp.MustCompile(`\[([^\[\]%]*SECRET[^\[\]%]*)\]`)
	for line := range dataLines(t, "testdata/secrets.txt") {
		kind, text, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		secret := ""
		text = place.ReplaceAllStringFunc(text, func(s string) string {
			n, _ := strconv.Atoi(s[1 : len(s)-1])
			secret = (fmt.Sprintf("s%03dA", len(texts)) + strings.Repeat("Zq9x7Kw2", 16))[:n]
			return "SECRET" + secret
		})
		text = inBase64.ReplaceAllStringFunc(text, func(s string) string {
			if kind == "json" {
				return s
			}
			return base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(s[1:len(s)-1], "SECRET", "")))
		})
		texts, secrets = append(texts, strings.ReplaceAll(text, "SECRET", "")), append(secrets, secret)
	}
	return texts, secrets
}

// dataLines are the lines of a file that are no comments.
func dataLines(t testing.TB, path string) func(func(string) bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") && !yield(line) {
				return
			}
		}
	}
}

// stillHolds says whether a text has six letters of a secret in a row, as they are or
// in base64.
func stillHolds(text, secret string) bool {
	for i := range len(secret) - 5 {
		if strings.Contains(text, secret[i:i+6]) {
			return true
		}
	}
	for shift := range 3 {
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		if strings.Contains(text, whole[4*min(shift, 1):len(secret)*4/3-3]) {
			return true
		}
	}
	return false
}

func TestTextsWithSecrets(t *testing.T) {
	k := NewMasker()
	texts, secrets := plantedTexts(t)
	leaks := 0
	for i, text := range texts {
		if !stillHolds(text, secrets[i]) {
			t.Fatalf("%q was not planted into %q", secrets[i], text)
		}
		got, _ := k.text(text)
		if stillHolds(got, secrets[i]) {
			leaks++
			t.Errorf("%q became %q", text, got)
		}
		if len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if again, _ := k.text(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
	t.Logf("%d of %d texts leak", leaks, len(texts))
}

func TestHarmlessTextsStay(t *testing.T) {
	k, n, looked := NewMasker(), 0, 0
	for text := range dataLines(t, "testdata/harmless.txt") {
		n++
		if hasSecretText([]byte(text)) {
			looked++
		}
		if got, ok := k.text(text); ok || got != text {
			t.Errorf("%q became %q", text, got)
		}
		b := []byte(text)
		w := k.walker(true)
		if w.loose(b); string(b) != text {
			t.Errorf("as configuration, %q became %q", text, b)
		}
	}
	if n < 200 {
		t.Errorf("only %d texts", n)
	}
	t.Logf("%d texts, of which %d need a second look", n, looked)
}

// What is found in a text is found whatever its neighbours in a message are:
// the search before the walk misses nothing.
func FuzzTextInAnyPlace(f *testing.F) {
	texts, _ := plantedTexts(f)
	for i, text := range texts {
		f.Add(text, []byte{0x0a, byte('A' + i%26)}, []byte{0x28, '(', '='})
	}
	f.Fuzz(func(t *testing.T, text string, before, after []byte) {
		k := NewMasker()
		got, ok := k.alone(text)
		if again, _ := k.alone(got); again != got {
			t.Errorf("%q became %q and then %q", text, got, again)
		}
		if len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if ok && !hasSecretText(bytes.Join([][]byte{before, []byte(text), after}, nil)) {
			t.Errorf("%q is not looked at between %q and %q", text, before, after)
		}
	})
}

// alone is text without the search before it.
func (k *Masker) alone(s string) (string, bool) {
	w, b := k.walker(true), []byte(s)
	w.full = true
	w.loose(b)
	return string(b), string(b) != s
}
