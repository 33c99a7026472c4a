package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMarks bounds the characters that a value of YAML cannot be without, before
// the parser makes a tree of all of it: some 600 MB at worst.
const maxMarks = 2 << 20

// readYAML reads the first document into tokens of JSON.
func readYAML(data []byte) ([]token, []*Error, *Error) {
	if len(data) > maxYAML {
		return nil, nil, wrong("larger than %d MiB, which is too much for YAML", maxYAML>>20)
	}
	marks := 0
	for _, b := range data {
		if strings.IndexByte("\n,:-?[{", b) >= 0 {
			marks++
		}
	}
	if marks > maxMarks {
		return nil, nil, wrong("more values than can be read")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, nil, yamlError(err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind == yaml.ScalarNode {
		return nil, nil, wrong("no mapping")
	}
	f := flattener{}
	if err := f.flatten(doc.Content[0], 0); err != nil {
		return nil, nil, wrong("%s", err.Error()).at(f.line, 0)
	}
	tokens, warnings := uniqueKeys(f.tokens)
	if dec.Decode(&more) == nil && len(more.Content) > 0 {
		warnings = append(warnings, wrong("there is another document").at(more.Line, 0).hint("Envoy reads the first one only"))
	}
	return tokens, warnings, nil
}

var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// yamlError keeps of an error the place, and of what it says what quotes
// nothing.
func yamlError(err error) *Error {
	m := yamlPlace.FindStringSubmatch(err.Error())
	if m == nil {
		return wrong("empty")
	}
	line, _ := strconv.Atoi(m[1])
	what, _, _ := strings.Cut(m[2], `"`)
	what, _, _ = strings.Cut(what, "'")
	if strings.HasPrefix(m[2], "could not find expected ':'") {
		what = "a colon is missing"
	}
	if what = strings.Trim(what, " :"); what == "" {
		what = "not YAML"
	}
	return wrong("%s", what).at(line, 0)
}

// flattener makes tokens of a tree.
type flattener struct {
	tokens []token
	size   int
	line   int // of what was met last
}

func (f *flattener) add(text string, n *yaml.Node, key bool) error {
	if f.size += len(text); len(f.tokens) >= maxTokens || f.size > maxText {
		return errTooMuch
	}
	f.tokens = append(f.tokens, token{text: text, line: int32(n.Line), col: int32(n.Column), key: key})
	return nil
}

var errNoKey = errors.New("a key that is not a text")

func (f *flattener) flatten(n *yaml.Node, depth int) error {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if f.line = n.Line; depth > maxDepth {
		return errors.New("nested too deep")
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return f.add(scalar(n), n, false)
	case yaml.SequenceNode:
		if err := f.add("[", n, false); err != nil {
			return err
		}
		for _, c := range n.Content {
			if err := f.flatten(c, depth+1); err != nil {
				return err
			}
		}
		return f.add("]", n, false)
	}
	if err := f.add("{", n, false); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if f.line = k.Line; k.Kind != yaml.ScalarNode {
			return errNoKey
		}
		if err := f.add(quotedJSON(k.Value), k, true); err != nil {
			return err
		}
		if err := f.flatten(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	return f.add("}", n, false)
}

// scalar is a value as Envoy takes it.
func scalar(n *yaml.Node) string {
	v := n.Value
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return quotedJSON(v)
	}
	switch v {
	case "", "~", "null", "Null", "NULL":
		return "null"
	}
	// yaml-cpp takes a word in lower case, in capitals, or with one capital.
	if low := strings.ToLower(v); v == low || v == strings.ToUpper(v) || v == strings.ToUpper(v[:1])+low[1:] {
		switch low {
		case "y", "yes", "true", "on":
			return "true"
		case "n", "no", "false", "off":
			return "false"
		}
	}
	if i, ok := integer(v); ok {
		text := strconv.FormatInt(i, 10)
		if i < math.MinInt32 || i > math.MaxInt32 {
			return quotedJSON(text)
		}
		return text
	}
	return quotedJSON(v)
}

// integer reads what C++ reads from a stream: decimal, 0x and 0 for octal.
func integer(v string) (int64, bool) {
	digits := strings.TrimLeft(v, "+-")
	if len(v)-len(digits) > 1 || strings.ContainsAny(v, "_oObB") && !strings.HasPrefix(strings.ToLower(digits), "0x") || strings.Contains(v, "_") {
		return 0, false
	}
	i, err := strconv.ParseInt(v, 0, 64)
	return i, err == nil
}

// quotedJSON is a text as JSON has it.
func quotedJSON(s string) string {
	plain := true
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
