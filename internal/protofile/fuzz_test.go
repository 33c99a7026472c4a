package protofile

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/known/durationpb"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// FuzzRead wants of any bytes that stand in a file of --descriptors an error or types,
// and no panic: as a descriptor set, and as a source with another beside it.
func FuzzRead(f *testing.F) {
	for _, text := range sources {
		f.Add([]byte(text), true)
	}
	for _, text := range []string{
		"syntax = \"proto3\"; import \"other.proto\"; message M { Other o = 1; map<string, M> m = 2; oneof x { int32 a = 3; } reserved 5 to max; }",
		"edition = \"2023\"; package a.b; option features.field_presence = IMPLICIT; message M { extensions 4; }",
		"syntax = \"proto2\"; message M { optional group G = 1 { required int32 x = 1 [default = 3]; } } extend M { }",
		"message M { message M { message M { } } } enum E { A = 0; A = 0; }", "import \"mine.proto\";", "{{{{", "syntax = \"proto9\";",
	} {
		f.Add([]byte(text), true)
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(set, false)
	f.Add([]byte("\x0a\x05\x0a\x03a.p"), false)
	f.Fuzz(func(t *testing.T, data []byte, source bool) {
		dir := t.TempDir()
		name := filepath.Join(dir, "mine.bin")
		if source {
			name = filepath.Join(dir, "mine"+Suffix)
		}
		for path, text := range map[string][]byte{name: data, filepath.Join(dir, "other.proto"): []byte("syntax = \"proto3\"; message Other { string s = 1; }")} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		types := descriptors.New()
		if _, err := Read(t.Context(), types, []string{name}, nil); err != nil && err.Error() == "" {
			t.Error("an error without a word")
		}
		_ = types.Set() // what was taken can be embedded
	})
}
