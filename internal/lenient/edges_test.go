package lenient_test

import (
	"strings"
	"testing"
)

// What is odd about texts: how they end, what stands twice, and what is told first.
func TestOddTexts(t *testing.T) {
	const typ = `"@type":"x/google.protobuf.Type"`
	for _, c := range []struct{ how, text, want string }{
		// It ends anywhere.
		{"json", `{a`, "fault 1:3 0 line 1: it ends in the middle"},
		{"json", `{"a\`, "fault 1:5 0 line 1: syntax error"},
		{"json", `{"\u0041`, "fault 1:9 0 line 1: it ends in the middle"},
		{"json", `{"\u004`, "fault 1:4 0 line 1: syntax error"},
		{"StringValue", `"\udfff"`, "syntax error"},
		{"StringValue", `"\udbff"`, "syntax error"},
		{"StringValue", `"\ue000"`, "StringValue \"\ue000\""},
		{"Timestamp", `"1999-09-09T19:59:59.9Z"`, `Timestamp "1999-09-09T19:59:59.900Z"`},
		// Of a message that stands twice the lists and messages in it do not add up.
		{
			"json", `{"@type":"x/envoy.service.discovery.v3.DiscoveryRequest","node":{"id":"n","clientFeatures":["a"],"locality":{"region":"r"}},"node":{"clientFeatures":["b"],"locality":{"zone":"z"}}}`,
			`DiscoveryRequest {"node":{"id":"n","locality":{"zone":"z"},"clientFeatures":["b"]}}`,
		},
		// Lists in lists are one list, also those of messages.
		{"json", `{` + typ + `,"options":[[{"name":"a"}],[[{"name":"b"}],{"name":"c"}]]}`, `Type {"options":[{"name":"a"},{"name":"b"},{"name":"c"}]}`},
		{"json", `{` + typ + `,a0:1,zZ:2,A_9:3,"name":"n"}`, `Type {"name":"n"}`},
		{"json", `{` + typ + `,0a:1}`, "syntax error"},
		{"json", `{` + typ + `,9:1}`, "syntax error"},
		// Numbers are numbers where a field takes any value.
		{"exact", `{"@type": x/google.protobuf.Value, value: -1.5}`, "Value -1.5"},
		{"exact", `{"@type": x/google.protobuf.Value, value: 0.5}`, "Value 0.5"},
		{"exact", `{"@type": x/google.protobuf.Value, value: "-1.5"}`, `Value "-1.5"`},
	} {
		if got := read(t, c.how, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s of %s:\n%s   want %s", c.how, c.text, got, c.want)
		}
	}
}

// Faults are told in the order in which they stand.
func TestOrderOfFaults(t *testing.T) {
	got := read(t, "exact", "{\"@type\": x/google.protobuf.Type, no: 1, name: a, name: b, neither: 2}\n")
	want := []string{"note 1:35 2 there is no field \"no\"", "note 1:51 4 the key \"name\" stands twice", "note 1:60 2 there is no field \"neither\""}
	at := -1
	for _, w := range want {
		if i := strings.Index(got, w); i <= at {
			t.Errorf("%s does not stand where it belongs:\n%s", w, got)
		} else {
			at = i
		}
	}
}
