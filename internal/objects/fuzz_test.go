package objects

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzOpen reads URLs: what is taken names a key that stays below its bucket or
// directory, and what is not is refused in a sentence.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{"s3://bucket/a/b.xdsp", "s3://bucket", "s3://b/../x", "file:///a%20b/", "file://host/x", "file:///%zz", "s3://bucket/a\x1b[2J", "s3://bucket//", "file:///a/../../b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		where, key, err := split(name)
		if err != nil {
			if text := err.Error(); strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(text) || len(text) > 1200 {
				t.Errorf("%q: %q", name, text)
			}
			return
		}
		if strings.HasPrefix(name, schemeS3) {
			if clean := path.Clean("/" + key); key != "" && clean != "/"+strings.TrimSuffix(key, "/") || strings.Contains(where, "/") {
				t.Errorf("%q is %q in %q", name, key, where)
			}
		} else if !strings.HasPrefix(where, "/") || strings.ContainsRune(where, 0) {
			t.Errorf("%q is %q", name, where)
		}
	})
}

// FuzzAnswer reads what a server says of an object, and of a range of it.
func FuzzAnswer(f *testing.F) {
	f.Add("bytes 0-9/100", "first-seq", "7", `"abc"`)
	f.Add("bytes 5-1/-3", "a\r\nb", "\x1b[2J", "W/\"x\"")
	f.Fuzz(func(t *testing.T, field, name, value, etag string) {
		r := &ranges{s: &bucket{name: "bucket", host: "host"}, obj: Object{Key: "k", Size: 100}}
		if err := r.within(field, 10, 10); err == nil && !strings.HasPrefix(strings.TrimSpace(field), "bytes 10-") && !strings.HasPrefix(strings.TrimSpace(field), "bytes +10-") {
			t.Errorf("%q is taken for a range from 10 on", field)
		}
		size := 0
		for k, v := range metaOf(map[string]string{name: value, "x" + name: value}) {
			size += len(k) + len(v)
			if !showable(k) || !showable(v) {
				t.Errorf("metadata %q %q", k, v)
			}
		}
		if size > 4*maxMeta || len(etagOf(etag)) > 256 || !showable(etagOf(etag)) {
			t.Errorf("%d bytes of metadata, ETag %q", size, etagOf(etag))
		}
		if text := printable(value); strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(text) > 400 {
			t.Errorf("%q", text)
		}
	})
}
