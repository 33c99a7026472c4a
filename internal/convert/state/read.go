package state

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// File is where a state comes from.
type File struct {
	Name string
	Time time.Time // when it was written; zero: not known
}

// Client is what was read of one client.
type Client struct {
	Node      string
	Resources int
	Unread    int // resources of which not all could be read
	// At is the time of its state, and Told says that the client has told it.
	At   time.Time
	Told bool
}

// Result is what was read.
type Result struct {
	By       configdump.Teller
	Entries  uint64
	Clients  []Client
	Notes    []string
	Messages uint64
}

// Is says whether a text begins as a dump or an answer of CSDS does.
func Is(head []byte) bool { return configdump.Is(head) || configdump.IsStatus(head) }

// Read gives the entries of all clients, by their time. It ends at the first error of
// emit. An error of the file comes after what is before it.
func Read(in io.Reader, f File, emit func(*session.Entry) error) (Result, error) {
	var done Result
	data, err := io.ReadAll(io.LimitReader(in, configdump.MaxBytes+1))
	if err != nil {
		return done, err
	}
	all, broken := configdump.ReadAll(data)
	var entries []session.Entry
	for _, d := range all {
		at, told := timeOf(d, f)
		c := Client{Node: d.Node, Resources: len(d.Resources), At: at, Told: told}
		for i := range d.Resources {
			if len(d.Resources[i].Unread) > 0 {
				c.Unread++
			}
		}
		done.By = d.By
		for _, n := range d.Notes {
			if len(all) > 1 {
				n = fmt.Sprintf("%q: %s", d.Node, n)
			}
			done.Notes = append(done.Notes, n)
		}
		some := sent(d, f.Name, at, &done)
		if d.By != configdump.ByIstiod {
			if some, err = held.Entries(d, f.Name, at, broken == nil); err != nil {
				return done, err
			}
		}
		done.Clients = append(done.Clients, c)
		entries = append(entries, some...)
	}
	slices.SortStableFunc(entries, func(a, b session.Entry) int { return a.Time.Compare(b.Time) })
	for i := range entries {
		done.Entries++
		entries[i].Seq = session.Seq(done.Entries)
		if entries[i].Message != nil {
			done.Messages++
		}
		if err := emit(&entries[i]); err != nil {
			return done, err
		}
	}
	return done, broken
}

// timeOf is the time of a state, and whether the client has told it.
func timeOf(d *configdump.Dump, f File) (time.Time, bool) {
	var last time.Time
	for i := range d.Resources {
		if t := d.Resources[i].Updated; t.After(last) && t.Year() <= 2200 {
			last = t
		}
	}
	if last.Year() >= 1970 {
		return last.UTC(), true
	}
	if f.Time.IsZero() {
		return time.Now().UTC(), false
	}
	return f.Time.UTC(), false
}

// sent are the responses that istiod would send, one of each type.
func sent(d *configdump.Dump, file string, at time.Time, done *Result) (out []session.Entry) {
	if d.By != configdump.ByIstiod {
		return nil
	}
	version := "" // of the push, which some lists have beside their resources
	for i := range d.Resources {
		version = cmp.Or(version, d.Resources[i].Version)
	}
	for _, typ := range []string{"CDS", "EDS", "LDS", "RDS", "SRDS", "SDS", "ECDS"} {
		var body []byte
		for i := range d.Resources {
			r := &d.Resources[i]
			switch {
			case r.Type != typ:
			case r.Body == nil:
				done.Notes = append(done.Notes, fmt.Sprintf("%s %q cannot be read, and is left out", r.Type, r.Name))
			default:
				of := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), r.TypeURL)
				of = protowire.AppendBytes(protowire.AppendTag(of, 2, protowire.BytesType), r.Body)
				body = protowire.AppendBytes(protowire.AppendTag(body, 2, protowire.BytesType), of)
			}
		}
		if body == nil {
			continue
		}
		data := body
		if version != "" {
			data = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), version)
			data = append(data, body...)
		}
		data = protowire.AppendString(protowire.AppendTag(data, 4, protowire.BytesType), xds.TypePrefix+xds.ByShort(typ).V3)
		n := int64(len(data))
		stream := session.StreamID(len(out)/3 + 1)
		out = append(
			out,
			session.Entry{Time: at, Stream: stream, Side: session.Proxy, Kind: session.KindOpen, Method: xds.FilePrefix + file},
			session.Entry{Time: at, Stream: stream, Side: session.Server, Kind: session.KindHeader, Headers: []session.Field{
				{Name: ":event", Value: "read"}, {Name: ":path", Value: file},
			}},
			session.Entry{Time: at, Stream: stream, Side: session.Server, Kind: session.KindMessage, Message: &session.Message{
				Data: session.Chunks{data}, Size: n, WireSize: n,
			}},
		)
	}
	return out
}
