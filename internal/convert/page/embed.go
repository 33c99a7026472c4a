package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// The parts of the file that are the same in every one.
var (
	//go:embed page.html
	pageBody string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// policy lets the script and the style of the page run, known by their hashes, and
// nothing else: no text of a peer, whatever becomes of it, is code, and nothing is
// fetched or sent. Where the browser knows trusted types, no text can even be made
// markup.
const policy = "default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// assemble writes the file around the data, which is JSON.
func assemble(w io.Writer, data []byte) (int64, error) {
	style, script := flat(pageStyle), flat(pageScript)
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\""+policy+"\">\n", hash(script), hash(style))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	b.WriteString("<title>xDS session report</title>\n<style>" + style + "</style>\n</head>\n<body>\n" + pageBody)
	b.WriteString("<script type=\"application/json\" id=\"data\">\n")
	b.Write(inert(data))
	b.WriteString("\n</script>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return b.WriteTo(w)
}

// flat is a text without what its lines are indented by, which only its authors need:
// there is no tab in what we write.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// hash names a text in the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// inert is a JSON text that means the same and cannot end the element that it
// stands in, or begin a comment there: outside of ASCII and punctuation of JSON
// such characters stand in strings only.
func inert(json []byte) []byte {
	out := make([]byte, 0, len(json)+len(json)/16)
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '<' || c == '>' || c == '&':
			out = fmt.Appendf(out, `\u%04x`, c)
		case c == 0xe2 && i+2 < len(json) && json[i+1] == 0x80 && (json[i+2] == 0xa8 || json[i+2] == 0xa9): // U+2028, U+2029
			out = fmt.Appendf(out, `\u20%02x`, json[i+2]-0x80)
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out
}
