package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/playback"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const ciliumDescriptors = "../../decode/descriptors/testdata/cilium.fds"

// recordedHosts is a session in which a client accepts two versions of a
// cilium.NetworkPolicyHosts, whose addresses change.
func recordedHosts(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hosts.xdsp")
	log, err := recorder.Create(path, store.Live(true, new(session.Buffers).Put))
	if err != nil {
		t.Fatal(err)
	}
	add := func(side session.Side, kind session.Kind, m proto.Message) {
		e := session.Entry{Conn: 1, Stream: 1, Side: side, Kind: kind}
		switch {
		case kind == session.KindOpen:
			e.Method = xdstest.SotWStream
		case m != nil:
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			e.Message = &session.Message{Data: session.Chunks{b}, Size: int64(len(b))}
		}
		log.Append(e)
	}
	const url = "type.googleapis.com/cilium.NetworkPolicyHosts"
	add(0, session.KindConnect, nil)
	add(session.Client, session.KindOpen, nil)
	add(session.Client, session.KindMessage, &discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "cilium-0"}, TypeUrl: url})
	for i, addr := range []string{"10.0.0.1/32", "10.0.0.2/32"} {
		hosts := protowire.AppendTag(nil, 1, protowire.VarintType)
		hosts = protowire.AppendVarint(hosts, 42)
		hosts = protowire.AppendString(protowire.AppendTag(hosts, 2, protowire.BytesType), addr)
		version := string(rune('1' + i))
		wrapped, err := anypb.New(&discoveryv3.Resource{Name: "42", Version: version, Resource: &anypb.Any{TypeUrl: url, Value: hosts}})
		if err != nil {
			t.Fatal(err)
		}
		add(session.Server, session.KindMessage, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: version, Nonce: version, Resources: []*anypb.Any{wrapped}})
		add(session.Client, session.KindMessage, &discoveryv3.DiscoveryRequest{TypeUrl: url, VersionInfo: version, ResponseNonce: version})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// said runs a command, and returns what it prints and what it says.
func said(t *testing.T, code int, stdin io.Reader, args ...string) (out, text string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := main1(args, stdin, &stdout, &stderr); got != code {
		t.Fatalf("%q: exit code %d, want %d:\n%s", args, got, code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

const (
	described   = `"host_addresses":["10.0.0.1/32"]`
	undescribed = `"@unknown":{"1":42,"2":"10.0.0.1/32"}`
)

// Each way to say what a type is leads to the names of its fields, and each way to
// get it wrong to one sentence.
func TestDescriptors(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	file, dir := recordedHosts(t), t.TempDir()
	show := func(stdin io.Reader, source string, args ...string) (out, text string) {
		t.Helper()
		out, text = said(t, 0, stdin, append([]string{"show", source, "4", "-o", "json"}, args...)...)
		return strings.NewReplacer(" ", "", "\n", "").Replace(out), text
	}
	is := func(what, out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("%s: %s is not in\n%s", what, want, out)
		}
	}

	out, text := show(nil, file)
	is("nothing is described", out, undescribed)
	is("nothing is described", text, "cilium.NetworkPolicyHosts is not built in: with --descriptors FILE it has the names of its fields")
	out, text = show(nil, file, "--descriptors", ciliumDescriptors)
	is("a set", out, described)
	is("a set", out, `"policy":"42"`)
	if text != "" {
		t.Errorf("it says %s", text)
	}
	t.Run("environment", func(t *testing.T) {
		t.Setenv("XDSPROXY_DESCRIPTORS", ciliumDescriptors)
		out, _ := show(nil, file)
		is("a variable", out, described)
	})

	// What is embedded is found in a file and in a pipe, and in a part of it.
	embedded, part := filepath.Join(dir, "embedded.xdsp"), filepath.Join(dir, "part.xdsp")
	said(t, 0, nil, "export", file, "--descriptors", ciliumDescriptors, "--embed-descriptors", "-w", embedded)
	said(t, 0, nil, "export", embedded, "--seq", "4", "-w", part)
	for _, path := range []string{embedded, part} {
		out, _ = show(nil, path)
		is(path, out, described)
	}
	piped, err := os.Open(embedded)
	if err != nil {
		t.Fatal(err)
	}
	defer piped.Close()
	out, _ = show(piped, "-")
	is("a pipe", out, described)
	out, _ = said(t, 0, nil, "info", embedded)
	is("info", out, "descriptors  in it")
	hidden := filepath.Join(dir, "hidden.xdsp")
	said(t, 0, nil, "export", embedded, "--pseudonyms", "-w", hidden)
	if facts, err := recorder.Inspect(hidden); err != nil || facts.Descriptors != "" {
		t.Errorf("names in the descriptors are not hidden: %v", err)
	}

	// Versions are compared by field, and filters see the names.
	out, _ = said(t, 0, nil, "diff", embedded, "42")
	is("diff", out, "host_addresses")
	out, _ = said(t, 0, nil, "watch", embedded, "--no-follow", "--filter", "text:host_addresses")
	if n := strings.Count(out, " RESP "); n != 2 {
		t.Errorf("the filter finds %d lines:\n%s", n, out)
	}
	out, _ = said(t, 0, nil, "check", file, "--enable", "all", "--info", "--fail-on", "never")
	is("check without descriptors", out, `type cilium.NetworkPolicyHosts of "42" is not known`)
	if out, _ = said(t, 0, nil, "check", embedded, "--enable", "all", "--info", "--fail-on", "never"); strings.Contains(out, "is not known") {
		t.Errorf("check does not know the type:\n%s", out)
	}

	r := &replaying{cli: &cli{config: settings.New()}, Replay: &playback.Replay{As: "client", Target: "127.0.0.1:1", Idle: time.Second, Output: "table"}, pace: "cause"}
	if err := r.check([]string{embedded}); err != nil || r.Options.Types != r.config.Types {
		t.Errorf("replay compares without the types: %v", err)
	}

	// What is wrong.
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		code       int
		args       []string
		want, hint string
	}{
		{1, []string{"--descriptors", filepath.Join(dir, "none.fds")}, "cannot read the descriptors: open ", "hint: FILE is a descriptor set"},
		{1, []string{"--descriptors", write("text.fds", "syntax = \"proto3\";")}, `text.fds": it is no descriptor set`, "hint: FILE is a descriptor set"},
		{1, []string{"--descriptors", write("lacks.proto", "syntax = \"proto3\";\nimport \"gone.proto\";\n")}, `its import "gone.proto" is nowhere`, "hint: --proto-path DIR says"},
		{1, []string{"--descriptors", write("wrong.proto", "syntax = \"proto3\";\nmessage A { B b = 1; }\n")}, `wrong.proto:2:13: `, "hint: FILE is"},
	} {
		_, text := said(t, c.code, nil, append([]string{"show", file, "4"}, c.args...)...)
		is(c.args[1], text, c.want)
		is(c.args[1], text, c.hint)
	}
	_, text = said(t, 2, nil, "export", file, "--embed-descriptors", "-w", filepath.Join(dir, "x.xdsp"))
	is("nothing to embed", text, "--embed-descriptors, and no type is described that is not built in")
	out, _ = said(t, 0, nil, "config", "--descriptors", "none.fds")
	is("config", out, "none.fds")
}
