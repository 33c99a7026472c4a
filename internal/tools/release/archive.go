package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"time"
)

// archives writes those of both programs: a zip for Windows, and a tar.gz for
// everybody else. Krew unpacks that of the plugin into a directory of its own, and
// finds by its name the one for a platform: there is neither in it.
func (r *release) archives(p platform) error {
	dir := "xdsproxy_" + r.number() + "_" + p.String()
	if err := r.archive(p, proxy, dir, dir+"/", r.tree); err != nil {
		return err
	}
	return r.archive(p, plugin, pluginArchive(p), "", []file{{"LICENSE", r.body("LICENSE")}, {"LICENSES.txt", r.pluginLicenses}})
}

// archive writes a program, and what lies beside it, with a prefix before each name.
func (r *release) archive(p platform, program, name, prefix string, beside []file) error {
	body, err := os.ReadFile(r.binary(p, program))
	if err != nil {
		return err
	}
	executable := p.executable(program)
	files := append([]file{{executable, body}}, beside...)
	mode := func(f file) int64 {
		if f.name == executable {
			return 0o755
		}
		return 0o644
	}
	if p.os == "windows" {
		return r.writeZip(name+".zip", prefix, files, mode)
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		if err := addFile(t, prefix+f.name, f.body, mode(f), r.date); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return r.keep(name+".tar.gz", zipped(b.Bytes()))
}

// addFile appends a file of root.
func addFile(t *tar.Writer, name string, body []byte, mode int64, when time.Time) error {
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: mode, ModTime: when, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := t.Write(body)
	return err
}

func (r *release) writeZip(name, prefix string, files []file, mode func(file) int64) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: prefix + f.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(mode(f)))
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.body); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return r.keep(name, b.Bytes())
}
