package mcptest

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Pages, as an assistant gets them, are the whole again.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		whole string
		pages []string
	}{
		{`{"a":1}`, []string{`{"answer":{"a":1}}`}},
		{`"hello"`, []string{`{"answer":"he"}`, `{"rest_of_text":true,"answer":"llo"}`}},
		{`[1,2,3,4,5,6]`, []string{`{"answer":[1,2]}`, `{"begins_at":"[2]","answer":[3,4]}`, `{"begins_at":"[4]","answer":[5,6]}`}},
		{`{"a":1,"b":2,"c":3}`, []string{`{"answer":{"a":1}}`, `{"begins_at":"b","answer":{"b":2,"c":3}}`}},
		{ // a page goes on in a text, within a list within an object
			`{"clients":[{"name":"a","text":"hello","more":[1]},{"name":"b"},{"name":"c"}],"z":0}`,
			[]string{
				`{"answer":{"clients":[{"name":"a","text":"hel"}]}}`,
				`{"begins_at":"clients[0].text","rest_of_text":true,"answer":{"clients":[{"text":"lo","more":[1]},{"name":"b"}]}}`,
				`{"begins_at":"clients[2]","answer":{"clients":[{"name":"c"}],"z":0}}`,
			},
		},
		{ // of what lies deep, the containers around it are left out
			`{"clients":[{"name":"a","list":[1,2,3,4]},{"name":"b","in":{"x":[5,6]}}]}`,
			[]string{
				`{"answer":{"clients":[{"name":"a","list":[1]}]}}`,
				`{"begins_at":"clients[0].list[1]","answer_at":"clients[0]","answer":{"list":[2]}}`,
				`{"begins_at":"clients[0].list[2]","answer_at":"clients[0].list","answer":[3]}`,
				`{"begins_at":"clients[0].list[3]","answer_at":"clients[0].list[3]","answer":4}`,
				`{"begins_at":"clients[1]","answer":{"clients":[{"name":"b"}]}}`,
				`{"begins_at":"clients[1].in","answer_at":"clients[1].in","answer":{"x":[5]}}`,
				`{"begins_at":"clients[1].in.x[1]","answer_at":"clients[1].in","answer":{"x":[6]}}`,
			},
		},
		{ // names that are no plain words
			`{"a.b":{"[0]":["x\"y"],"c\"]":1}}`,
			[]string{
				`{"answer":{"a.b":{"[0]":["x"]}}}`,
				`{"begins_at":"[\"a.b\"][\"[0]\"][0]","rest_of_text":true,"answer":{"a.b":{"[0]":["\"y"]}}}`,
				`{"begins_at":"[\"a.b\"][\"c\\\"]\"]","answer_at":"[\"a.b\"]","answer":{"c\"]":1}}`,
			},
		},
	} {
		var whole any
		for _, text := range c.pages {
			var p Page
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			whole = Merge(whole, &p)
		}
		var want any
		if err := json.Unmarshal([]byte(c.whole), &want); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%#v", whole) != fmt.Sprintf("%#v", want) {
			t.Errorf("%v, want %v", whole, want)
		}
	}
}
