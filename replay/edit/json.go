package edit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
)

// FromJSON is a message of REST, of the type with this name, as gRPC has it. A mask
// in the place of base64 is what it is in a message of gRPC.
func FromJSON(name string, body []byte) ([]byte, error) {
	m, err := message(name)
	if err != nil {
		return nil, err
	}
	if _, fault := lenient.JSON(maskedBytes(body)).Into(m, protoregistry.GlobalTypes); fault != nil {
		return nil, fault
	}
	return proto.Marshal(m)
}

// ToJSON is the opposite of FromJSON.
func ToJSON(name string, wire []byte) ([]byte, error) {
	m, err := message(name)
	if err != nil {
		return nil, err
	}
	if err := unmarshal.Message(wire, m); err != nil {
		return nil, err
	}
	return unmarshal.ToJSON(protojson.MarshalOptions{UseProtoNames: true}, m)
}

func message(name string) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, fmt.Errorf("the type %q is not known", name)
	}
	return t.New().Interface(), nil
}

func maskedBytes(body []byte) []byte {
	mask := regexp.MustCompile(`("inline_?[bB]ytes"\s*:\s*")(\[masked:[^"\\]*)"`)
	return mask.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := mask.FindSubmatch(found)
		return append(base64.StdEncoding.AppendEncode(bytes.Clone(parts[1]), parts[2]), '"')
	})
}

// VersionOfPoll returns a poll with another version_info, which leaves it if that is
// empty. All else keeps its bytes. It returns false if the body is no JSON object.
func VersionOfPoll(body []byte, version string) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	text, _ := json.Marshal(version) // a string
	for first := true; d.More(); first = false {
		from := d.InputOffset()
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		after := d.InputOffset()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		if key != "version_info" && key != "versionInfo" {
			continue
		}
		to := d.InputOffset()
		if version != "" {
			return bytes.Join([][]byte{body[:after], []byte(":"), text, body[to:]}, nil), true
		}
		rest := bytes.TrimLeft(body[to:], " \t\r\n")
		if first {
			rest = bytes.TrimPrefix(rest, []byte(",")) // else the one before it goes
		}
		return bytes.Join([][]byte{body[:from], rest}, nil), true
	}
	if version == "" {
		return body, true
	}
	at := bytes.IndexByte(body, '{') + 1
	field := append([]byte(`"version_info":`), text...)
	if rest := bytes.TrimLeft(body[at:], " \t\r\n"); len(rest) > 0 && rest[0] != '}' {
		field = append(field, ',')
	}
	return bytes.Join([][]byte{body[:at], field, body[at:]}, nil), true
}
