// Package bait has texts with secrets in them, to be hidden where they may
// stand and looked for where they must not come, and texts that hold none and must
// stay as they are. It is for tests, and knows nothing of who masks them.
package bait

import (
	_ "embed" // the texts
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	//go:embed secrets.txt
	secrets string
	//go:embed harmless.txt
	harmless string
)

// Text is a text and the secret in it.
type Text struct {
	Kind   string // what gives the secret away, in a word
	Text   string
	Secret string
}

var (
	place    = regexp.MustCompile(`\{(\d+)\}`)
	inBase64 = regexp.MustCompile(`\[([^\[\]%]*\x00[^\[\]%]*)\]`)
)

// Texts are texts with secrets. Each has one of its own, of which the first
// letters are mark, a number and a letter.
func Texts(mark string) []Text {
	var all []Text
	for _, line := range lines(secrets) {
		kind, text, _ := strings.Cut(line, "\t")
		secret := ""
		text = place.ReplaceAllStringFunc(text, func(s string) string {
			n, _ := strconv.Atoi(s[1 : len(s)-1])
			secret = (fmt.Sprintf("%s%03dA", mark, len(all)) + strings.Repeat("Zq9x7Kw2", 16))[:n]
			return "\x00" + secret
		})
		if kind != "json" {
			text = inBase64.ReplaceAllStringFunc(text, func(s string) string {
				return base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(s[1:len(s)-1], "\x00", "")))
			})
		}
		all = append(all, Text{kind, strings.ReplaceAll(text, "\x00", ""), secret})
	}
	return all
}

// Harmless are texts without secrets.
func Harmless() []string { return lines(harmless) }

// lines are those that are no comments.
func lines(s string) []string {
	var all []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			all = append(all, line)
		}
	}
	return all
}

// Holds says whether a text still has six letters of the secret in a row, or the
// first of it in base64.
func (s *Text) Holds(text string) bool {
	for i := range len(s.Secret) - 5 {
		if strings.Contains(text, s.Secret[i:i+6]) {
			return true
		}
	}
	for shift := range 3 {
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + s.Secret[:12]))
		if strings.Contains(text, whole[4*min(shift, 1):len(whole)-4]) {
			return true
		}
	}
	return false
}
