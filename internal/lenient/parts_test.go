package lenient

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// What a value of YAML is in JSON, as Envoy takes it.
func TestScalarsOfYAML(t *testing.T) {
	for text, want := range map[string]string{
		"y": "true", "Y": "true", "yes": "true", "Yes": "true", "YES": "true", "yEs": `"yEs"`, "YeS": `"YeS"`, "yES": `"yES"`,
		"on": "true", "On": "true", "ON": "true", "oN": `"oN"`, "true": "true", "True": "true", "TRUE": "true", "tRUE": `"tRUE"`,
		"n": "false", "N": "false", "no": "false", "No": "false", "NO": "false", "nO": `"nO"`,
		"off": "false", "Off": "false", "OFF": "false", "oFF": `"oFF"`, "false": "false", "False": "false", "FALSE": "false", "faLse": `"faLse"`,
		"null": "null", "Null": "null", "NULL": "null", "~": "null", "nULL": `"nULL"`, `"null"`: `"null"`, "!!str null": `"null"`, `"yes"`: `"yes"`,
		"5": "5", "+5": "5", "-5": "-5", "--5": `"--5"`, "+-5": `"+-5"`, "0x10": "16", "-0x10": "-16", "010": "8", "0o10": `"0o10"`, "0b1": `"0b1"`, "1_0": `"1_0"`, "0x1_0": `"0x1_0"`,
		"0xab": "171", "0XB": "11", "1.5": `"1.5"`, "2147483647": "2147483647", "2147483648": `"2147483648"`, "-2147483648": "-2147483648", "-2147483649": `"-2147483649"`,
	} {
		y, err := YAML([]byte("k: "+text), 10)
		if got := string(y.json); err != nil || got != `{"k":`+want+`}` {
			t.Errorf("%s becomes %s, %v, want %s", text, got, err, want)
		}
	}
}

// A key of YAML is a text, each of them.
func TestKeysOfYAML(t *testing.T) {
	for text, line := range map[string]int{"? [a]\n: 1\n": 1, "a: 1\n? [b]\n: 2\n": 2, "a: 1\nb: 2\n? {c: d}\n: 3\n": 3, "a: [1, {b: 1}]\n": 0} {
		_, _, err := YAMLTree([]byte(text), 20)
		if is := err != nil; is != (line > 0) || is && (err.Message != "a key that is not a text" || err.Line != line) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCommentsAreJoined(t *testing.T) {
	for _, c := range [][3]string{{"", "", ""}, {"# a", "", "# a"}, {"", "# b", "# b"}, {"# a", "# b", "# a\n\n# b"}} {
		if got := joined(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: %q", c[0], c[1], got)
		}
	}
}

// What a key without quotes may consist of.
func TestWords(t *testing.T) {
	const word, none = "_0189abyzABYZ", "/:`{@[-. \"\x00\xe9"
	for _, c := range []byte(word) {
		if !isWord(c) {
			t.Errorf("%q is none of a word", c)
		}
	}
	for _, c := range []byte(none) {
		if isWord(c) {
			t.Errorf("%q is one of a word", c)
		}
	}
}

// Keys of maps are read as what they are keys of, and without any freedom.
func TestKeysOfMaps(t *testing.T) {
	field := (&wrapperspb.BoolValue{}).ProtoReflect().Descriptor().Fields().ByNumber(1)
	for key, taken := range map[string]bool{"true": true, "false": true, "True": false, "1": false, "yes": false, "": false} {
		if k, ok := mapKey(field, key); ok != taken || ok && k.Bool() != (key == "true") {
			t.Errorf("%q as a bool: %v, %v", key, k, ok)
		}
	}
	field = (&wrapperspb.Int32Value{}).ProtoReflect().Descriptor().Fields().ByNumber(1)
	for key, want := range map[string]int64{"5": 5, " -5 ": -5, "2147483647": 2147483647, "2147483648": 0, "5.0": 0, "5e1": 0, "0x5": 0, "": 0} {
		if k, ok := mapKey(field, key); ok != (want != 0) || ok && k.Int() != want {
			t.Errorf("%q as a number: %v, %v", key, k, ok)
		}
	}
}

// Only the enum that stands for null takes it.
func TestNullOfEnums(t *testing.T) {
	for _, text := range []string{"null", "true"} {
		if n, ok := enumNumber(structpb.NullValue(0).Descriptor(), text, false, false); n != 0 || ok != (text == "null") {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
		if _, ok := enumNumber(typepb.Syntax(0).Descriptor(), text, false, false); ok {
			t.Errorf("%s is a word of another enum", text)
		}
	}
}
