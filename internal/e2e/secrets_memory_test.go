package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/render"
	relay "github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// masking are the options that make a log mask secrets.
func masking() recorder.Options {
	masker := mask.New()
	return recorder.Options{Masked: true, Transform: masker.Transform, Content: masker.Content}
}

// through lets one conversation with seeds pass a proxy in this process, into l,
// and closes it.
func (s *seeds) through(t *testing.T, l *recorder.Log, logger *zap.Logger) {
	t.Helper()
	listen, err := relay.ParseAddr("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := relay.ParseAddr(s.serve(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := relay.Listen(relay.Config{Pairs: []relay.Pair{{Listen: listen, Upstream: upstream}}, Log: l, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	if err := s.asks().converse(t.Context(), p.Addrs()[0].String()); err != nil {
		t.Error(err)
	}
	stop()
	if err := errors.Join(<-served, l.Close()); err != nil {
		t.Error(err)
	}
}

// given is everything that a reader of l gives: the bytes and the words of each
// entry, and how show prints it.
func given(t *testing.T, l *recorder.Log) []byte {
	t.Helper()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	tracker, documents := check.NewTracker(nil), render.NewDocuments()
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil {
			out.Write(e.Message.Data.Bytes())
		}
		fmt.Fprintf(&out, "\n%+v %+v %+v %+v\n", e, e.Status, e.Note, e.Peer)
		documents.See(&e)
		c := tracker.Step(&e)
		d, err := documents.Document(&e, &c)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(d.YAML())
		out.Write(d.JSON())
	}
	return out.Bytes()
}

// held is all the bytes and strings that are reachable from a log, to the ends
// of their capacity. What a closure or a channel holds is not reachable in this
// way.
func held(l *recorder.Log) [][]byte {
	var out [][]byte
	seen := map[[2]uintptr]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			out = append(out, []byte(v.String()))
		case reflect.Interface, reflect.Pointer:
			if v.IsNil() {
				return
			}
			if v.Kind() == reflect.Pointer {
				at := [2]uintptr{v.Pointer(), reflect.ValueOf(v.Type()).Pointer()}
				if seen[at] {
					return
				}
				seen[at] = true
			}
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				walk(it.Key())
				walk(it.Value())
			}
		case reflect.Slice:
			if v.Cap() == 0 {
				return
			}
			if v.Type().Elem().Kind() == reflect.Uint8 {
				out = append(out, bytes.Clone(v.Bytes()[:v.Cap()]))
				return
			}
			v = reflect.NewAt(reflect.ArrayOf(v.Cap(), v.Type().Elem()), v.UnsafePointer()).Elem()
			fallthrough
		case reflect.Array:
			switch v.Type().Elem().Kind() {
			case reflect.Uint8:
				b := make([]byte, v.Len())
				for i := range b {
					b[i] = byte(v.Index(i).Uint())
				}
				out = append(out, b)
				return
			case reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float64:
				return
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(l))
	return out
}

// A recording that is kept in memory holds no secret: not in its bytes, not in
// what they decompress to, nor in anything else that is left in its log, and its
// readers give none.
func TestSecretsAreNotInMemory(t *testing.T) {
	t.Parallel()
	seeded := &seeds{}
	l, err := recorder.NewRing(masking())
	if err != nil {
		t.Fatal(err)
	}
	seeded.through(t, l, nil)
	readers := given(t, l)
	readable(t, "what readers give", readers)
	seeded.absent(t, map[string][]byte{"what readers give": readers})
	var all []byte // which may be in pieces, as blocks were committed
	for _, b := range held(l) {
		plain := decompressed(t, b)
		all = append(all, plain...)
		seeded.absent(t, map[string][]byte{"the memory of the log": b, "the memory of the log, decompressed": plain})
	}
	readable(t, "the ring", all)
}

// Where a hook of the writer panics with what it was to mask, neither the log of
// the program nor the recording has it.
func TestSecretsNotInCrashes(t *testing.T) {
	t.Parallel()
	words := func(e *session.Entry) string {
		text := fmt.Sprintf("%+v", e)
		if e.Message != nil {
			text += string(e.Message.Data.Bytes())
		}
		return text
	}
	for name, crash := range map[string]func(*recorder.Options){
		"transform, before": func(o *recorder.Options) {
			o.Transform = func(e *session.Entry) { panic(words(e)) }
		},
		"transform, after": func(o *recorder.Options) {
			transform := o.Transform
			o.Transform = func(e *session.Entry) {
				before := *e
				transform(e)
				panic(errors.New(words(&before)))
			}
		},
		"content": func(o *recorder.Options) {
			o.Content = func(chunk []byte) []byte { panic(chunk) }
		},
		"content, out of bounds": func(o *recorder.Options) {
			o.Content = func(chunk []byte) []byte { return chunk[:len(chunk)+1<<30] }
		},
		"content, of another length": func(o *recorder.Options) {
			o.Content = func(chunk []byte) []byte { return append(chunk[:len(chunk):len(chunk)], chunk...) }
		},
		"labels": func(o *recorder.Options) {
			before := map[session.Seq]string{}
			transform := o.Transform
			o.Transform = func(e *session.Entry) {
				before[e.Seq] = words(e)
				transform(e)
			}
			o.Labels = func(e *session.Entry) []string { panic(before[e.Seq]) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			seeded := &seeds{}
			var told bytes.Buffer
			logger := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&told), zap.DebugLevel))
			o := masking()
			o.Logger = logger
			o.OnError = func(err error) { fmt.Fprintln(&told, err) }
			crash(&o)
			l, err := recorder.Create(filepath.Join(t.TempDir(), "crash.xdsp"), o)
			if err != nil {
				t.Fatal(err)
			}
			seeded.through(t, l, nil)
			if !bytes.Contains(told.Bytes(), []byte("lost its payload")) {
				t.Fatalf("nothing crashed: %s", &told)
			}
			raw := contents(t, l.Path())
			seeded.absent(t, map[string][]byte{
				"the log": told.Bytes(), "the file": raw, "the decompressed file": decompressed(t, raw),
				"what readers give": given(t, l), "the memory of the log": bytes.Join(held(l), nil),
			})
		})
	}
}
