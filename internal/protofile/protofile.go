// Package protofile reads what --descriptors names: descriptor sets, and .proto
// files, which it compiles. It decodes no message.
package protofile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
)

// Suffix is that of files that are compiled.
const Suffix = ".proto"

// Read adds the types of files. What a .proto file imports is looked for among what
// is linked, then in the directories paths, then in the directory of the file and
// those above it. In told is what could not be used, a sentence each.
func Read(ctx context.Context, types *descriptors.Types, files, paths []string) (told []string, err error) {
	for _, file := range files {
		var set []byte
		if strings.HasSuffix(file, Suffix) {
			set, err = compile(ctx, file, paths)
		} else {
			set, err = read(file)
		}
		if err != nil {
			return told, err
		}
		more, err := types.Add(file, set)
		if told = append(told, more...); err != nil {
			return told, err
		}
	}
	return told, nil
}

// ImportError says that what a .proto file imports was not found.
type ImportError struct{ File, Import string }

func (e *ImportError) Error() string {
	return fmt.Sprintf("cannot compile %q: its import %q is nowhere", e.File, e.Import)
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the descriptors: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, descriptors.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the descriptors: %w", err)
	}
	return b, nil
}

// compile makes a descriptor set of a .proto file and of what it imports and is not
// linked.
func compile(ctx context.Context, file string, paths []string) ([]byte, error) {
	source, err := read(file)
	if err != nil {
		return nil, err
	}
	name, roots, err := rootsOf(file, paths)
	if err != nil {
		return nil, err
	}
	var missing atomic.Pointer[string]
	c := protocompile.Compiler{Resolver: protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		if path == name { // whatever the directories have under this name
			return sourceOf(path, source)
		}
		if linked, err := protoregistry.GlobalFiles.FindFileByPath(path); err == nil {
			return protocompile.SearchResult{Desc: linked}, nil
		}
		for _, root := range roots {
			if text, err := read(filepath.Join(root, filepath.FromSlash(path))); err == nil {
				return sourceOf(path, text)
			}
		}
		missing.Store(&path)
		return protocompile.SearchResult{}, protoregistry.NotFound
	}), MaxParallelism: 1}
	compiled, err := c.Compile(ctx, name)
	switch {
	case err != nil && missing.Load() != nil:
		return nil, &ImportError{File: file, Import: *missing.Load()}
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("cannot compile %q: %s", file, text)
	}
	set := &descriptorpb.FileDescriptorSet{}
	collect(set, make(map[string]bool), compiled[0])
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("cannot compile %q: %w", file, err)
	}
	return b, nil
}

// maxDepth bounds how deep braces are nested in a source: the compiler goes down as
// deep, and takes some 10 kB for each.
const maxDepth = 1000

// sourceOf is a source, if it can be compiled in bounded memory.
func sourceOf(path string, text []byte) (protocompile.SearchResult, error) {
	if len(text) > descriptors.MaxSize {
		return protocompile.SearchResult{}, fmt.Errorf("%q is larger than %d MiB", path, descriptors.MaxSize>>20)
	}
	depth := 0
	for _, b := range text {
		switch b {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth > maxDepth {
			return protocompile.SearchResult{}, fmt.Errorf("%q is nested too deeply", path)
		}
	}
	return protocompile.SearchResult{Source: bytes.NewReader(text)}, nil
}

// rootsOf is the name by which a file is known to others, and the directories in
// which its imports are looked for.
func rootsOf(file string, paths []string) (name string, roots []string, err error) {
	at, err := filepath.Abs(file)
	if err != nil {
		return "", nil, fmt.Errorf("cannot read the descriptors: %w", err)
	}
	for _, p := range paths {
		root, err := filepath.Abs(p)
		if err != nil {
			return "", nil, fmt.Errorf("cannot read the descriptors: %w", err)
		}
		roots = append(roots, root)
		if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) && name == "" {
			name = filepath.ToSlash(rel)
		}
	}
	for dir := filepath.Dir(at); ; dir = filepath.Dir(dir) {
		roots = append(roots, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if name == "" {
		name = filepath.Base(at)
	}
	return name, roots, nil
}

// collect adds what was compiled, imports first.
func collect(set *descriptorpb.FileDescriptorSet, seen map[string]bool, fd protoreflect.FileDescriptor) {
	if seen[fd.Path()] {
		return
	}
	seen[fd.Path()] = true
	for i := range fd.Imports().Len() {
		collect(set, seen, fd.Imports().Get(i).FileDescriptor)
	}
	if _, is := fd.(linker.Result); is {
		set.File = append(set.File, protoutil.ProtoFromFileDescriptor(fd))
	}
}

// Hint says what may help against an error of Read; "" if nothing is known.
func Hint(err error) string {
	if _, is := errors.AsType[*ImportError](err); is {
		return "--proto-path DIR says where imports are; it can be repeated"
	}
	return "FILE is a descriptor set, as protoc --include_imports --descriptor_set_out=FILE writes it, or a .proto file"
}
