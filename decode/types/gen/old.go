package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// oldPackage is a package of Envoy's API before version 3.
var oldPackage = regexp.MustCompile(`/go-control-plane/envoy/.*/v[12](alpha\d*)?(/|$)`)

func isOld(path string) bool { return oldPackage.MatchString(path) && !strings.Contains(path, "/v3") }

// lister prints, as a set, the descriptors of the files that its imports register
// and that are of an old package.
const lister = `package main

import (
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

%s)

func main() {
	var set descriptorpb.FileDescriptorSet
	wanted := strings.Fields(%q)
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for _, path := range wanted {
			if at := strings.LastIndexByte(f.Path(), '/'); at > 0 && f.Path()[:at] == path {
				set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
			}
		}
		return true
	})
	slices.SortFunc(set.File, func(a, b *descriptorpb.FileDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(b)
}
`

// describe has the generated code of these packages say what is in them. They are
// linked into a program of their own.
func describe(packages []string) ([]byte, error) {
	var imports, folders strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&imports, "\t_ %q\n", p)
		_, folder, _ := strings.Cut(p, "/go-control-plane/")
		folders.WriteString(folder + " ")
	}
	dir, err := os.MkdirTemp(".", "lister")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, fmt.Appendf(nil, lister, imports.String(), folders.String()), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "run", "./"+file)
	var said bytes.Buffer
	cmd.Stderr = &said
	set, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the descriptors: %w: %s", err, said.String())
	}
	return set, nil
}
