package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/session"
)

// A message that is larger than any that a report holds is named and left out, the
// others are there in full.
func TestReportOfLargeMessage(t *testing.T) {
	all, _ := read(t, "../../check/testdata/sessions/demo.xdsp")
	at := slices.IndexFunc(all, func(e session.Entry) bool {
		return e.Side == session.Server && e.Message != nil && e.Message.Data.Len() > 0
	})
	some := append(slices.Clone(all[:at+1]), all[at+1:min(at+4, len(all))]...)
	m := *some[at].Message
	data := m.Data.Bytes()
	for n := 0; len(data) <= 4<<20; n++ { // more resources, in field 2, of types that nobody knows
		payload := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("LARGE-%06d", n))
		payload = protowire.AppendBytes(protowire.AppendTag(payload, 2, protowire.BytesType), make([]byte, 4<<10))
		data = protowire.AppendBytes(protowire.AppendTag(data, 2, protowire.BytesType), payload)
	}
	m.Data, m.Size = session.Chunks{data}, int64(len(data))
	some[at].Message = &m

	text, done := written(t, some, convert.Markdown, "all", everything)
	seq := some[at].Seq
	if !slices.Equal(done.Large, []session.Seq{seq}) {
		t.Errorf("too large are %v, want entry %d", done.Large, seq)
	}
	if want := fmt.Sprintf("\nNot shown in full, since a report holds no message of more than 4 MiB: %d.\n", seq); !strings.Contains(text, want) {
		t.Errorf("there is no line %q in\n%s", want, text)
	}
	if strings.Contains(text, "LARGE-000012") || !strings.Contains(text, "```yaml") {
		t.Errorf("the large message is in it, or no other is:\n%.4000s", text)
	}
}
