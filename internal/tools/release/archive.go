package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"strings"
	"time"
)

// archive writes a zip for Windows, and a tar.gz for everybody else.
func (r *release) archive(p platform) error {
	program, err := os.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	dir := "xdsproxy_" + r.number() + "_" + p.String()
	files := append([]file{{p.executable(), program}}, r.tree...)
	if p.os == "windows" {
		return r.writeZip(dir, files)
	}
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		if err := addFile(t, dir+"/"+f.name, f.body, modeOf(f.name), r.date); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return r.keep(dir+".tar.gz", zipped(b.Bytes()))
}

func modeOf(name string) int64 {
	if strings.HasPrefix(name, "xdsproxy") {
		return 0o755
	}
	return 0o644
}

// addFile appends a file of root.
func addFile(t *tar.Writer, name string, body []byte, mode int64, when time.Time) error {
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: mode, ModTime: when, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := t.Write(body)
	return err
}

func (r *release) writeZip(dir string, files []file) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(modeOf(f.name)))
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
	return r.keep(dir+".zip", b.Bytes())
}
