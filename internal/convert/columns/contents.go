package columns

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/convert/columns/known"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// contents are the tables of resources and bodies, which all recordings share. It is
// guarded by the mutex of its Dir.
type contents struct {
	known     *known.Set
	resources *table[resourceRow, *resourceRow] // nil: nothing is new
	bodies    *table[bodyRow, *bodyRow]
	place     [2]string // cluster and date of the first that is new
}

// hashOf is what a content is known by.
func hashOf(typeURL string, body []byte) (h known.Hash) {
	sum := sha256.New()
	_, _ = io.WriteString(sum, typeURL)
	_, _ = sum.Write([]byte{0})
	_, _ = sum.Write(body)
	sum.Sum(h[:0])
	return h
}

// open reads which contents are there. Of each file only that column is read.
func (c *contents) open(d *Dir) error {
	c.known = known.New(filepath.Join(d.root, incomplete), d.o.KnownBytes)
	return d.each(Resources, func(dir, name string) error {
		return unwritten(c.read(filepath.Join(dir, name)))
	})
}

func (c *contents) read(path string) error {
	type only struct {
		Content string `parquet:"content"`
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true))
	if err != nil {
		return &ForeignError{path, err.Error()}
	}
	r := parquet.NewGenericReader[only](p)
	defer r.Close()
	rows := make([]only, 512)
	for {
		n, err := r.Read(rows)
		for i := range rows[:n] {
			var h known.Hash
			if b, bad := hex.DecodeString(rows[i].Content); bad == nil && len(b) == len(h) {
				copy(h[:], b)
				is, err := c.known.Has(h)
				if err == nil && !is {
					err = c.known.Add(h)
				}
				if err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &ForeignError{path, err.Error()}
		}
	}
}

// where is an entry that has a content.
type where struct {
	of   *Recording
	seq  int64
	time time.Time
}

// content enters a content, unless it is there, and returns what it is known by.
func (d *Dir) content(at where, r *decode.Resource, c *engine.Content, masked, json bool) (string, error) {
	h := hashOf(r.TypeURL, r.Body)
	id := hex.EncodeToString(h[:])
	d.mu.Lock()
	is, err := d.contents.known.Has(h)
	d.mu.Unlock()
	if is || err != nil {
		return id, unwritten(err)
	}
	// What it takes to find out more of it, others do not wait for.
	row := resourceOf(at, r, c, masked, json)
	row.Content = id
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return id, d.err
	}
	if is, err := d.contents.known.Has(h); is || err != nil {
		return id, unwritten(err)
	}
	if err := d.contents.add(d, at, row, bodyRow{Content: id, Bytes: r.Body}); err != nil {
		d.err = err // it may be half there: what refers to it must not be
		return id, err
	}
	return id, unwritten(d.contents.known.Add(h))
}

func (c *contents) add(d *Dir, at where, row resourceRow, body bodyRow) error {
	if c.resources == nil {
		var err error
		meta := map[string]string{keyWrote: d.o.Program}
		if c.resources, err = newTable[resourceRow](&d.o, d.besideLocked(Resources), Resources, meta); err != nil {
			return err
		}
		if c.bodies, err = newTable[bodyRow](&d.o, d.besideLocked(Bodies), Bodies, meta); err != nil {
			return err
		}
		c.place = [2]string{at.of.Cluster, dateOf(at.time)}
	}
	if err := c.resources.add(row); err != nil {
		return err
	}
	if err := c.bodies.add(body); err != nil {
		return err
	}
	if err := c.bodies.hand(); err != nil { // its bytes are those of a message
		return err
	}
	if c.bodies.total+c.resources.total < contentBytes {
		return nil
	}
	return c.publish(d)
}

// publish brings what is new to its place. The file of resources comes last: that of
// bodies without it counts as not there.
func (c *contents) publish(d *Dir) error {
	if c.resources == nil {
		return nil
	}
	resources, bodies := c.resources, c.bodies
	c.resources, c.bodies = nil, nil
	if bodies == nil {
		resources.discard()
		return nil
	}
	err := bodies.seal()
	if sealed := resources.seal(); err == nil {
		err = sealed
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	name := "contents-" + hex.EncodeToString(id[:]) + ending
	for _, t := range []struct{ table, from string }{{Bodies, bodies.path}, {Resources, resources.path}} {
		if err != nil {
			break
		}
		to := filepath.Join(d.root, place(t.table, c.place[0], c.place[1]), name)
		if err = publish(t.from, to); err == nil {
			err = d.o.settle(d.root, filepath.Dir(to))
		}
	}
	return err
}

func (c *contents) close() {
	if c.resources != nil {
		c.resources.discard()
	}
	if c.bodies != nil {
		c.bodies.discard()
	}
	if c.known != nil {
		c.known.Close()
	}
}

// resourceOf says what is known of a content: all but where it was met hangs on its
// type and bytes alone.
func resourceOf(at where, r *decode.Resource, c *engine.Content, masked, json bool) resourceRow {
	row := resourceRow{
		TypeURL: text(r.TypeURL), Size: int64(len(r.Body)), JSON: json, Masked: masked,
		Proxy: text(at.of.Proxy), Recording: text(at.of.Name), Seq: at.seq, Time: microsOf(at.time),
	}
	if r.TypeURL != "" {
		row.Type = text(xds.ShortType(r.TypeURL))
	}
	if c != nil && c.Facts != nil {
		f := c.Facts
		row.Name, row.Undecodable = text(f.Name), text(f.Undecodable)
		for i := range f.Sources {
			s := &f.Sources[i]
			if s.ByName {
				if row.ServiceByName == "" {
					row.ServiceByName = text(s.String())
				}
				continue
			}
			if row.Service == "" {
				row.Service, row.ServiceNamespace, row.ServiceName = text(s.String()), text(s.Namespace), text(s.Name)
				row.ServiceKind, row.ServiceSystem = text(s.Kind), text(s.System)
			}
			row.Sources = append(row.Sources, text(s.String()))
		}
		if row.Service != "" {
			row.ServiceByName = ""
		}
	}
	if certs := certificatesIn(r.Body, json); certs.count > 0 {
		row.Certificates = int32(certs.count)
		if first := certs.first; first != nil {
			row.NotBefore, row.NotAfter = micros(first.NotBefore), micros(first.NotAfter)
			row.CertificateSubject, row.CertificateIssuer = text(first.Subject.String()), text(first.Issuer.String())
		}
	}
	return row
}
