package configdump

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

var (
	beginsStatus = regexp.MustCompile(`^\x{FEFF}?\s*\{\s*"config"\s*:\s*\[`)
	beginsObject = regexp.MustCompile(`^\x{FEFF}?\s*\{`)
	hasGeneric   = regexp.MustCompile(`"generic_?[xX]ds_?[cC]onfigs"\s*:\s*\[`)
)

// IsStatus says whether a text begins as an answer of CSDS in JSON: a
// ClientStatusResponse, or one ClientConfig.
func IsStatus(head []byte) bool {
	return beginsStatus.Match(head) || beginsObject.Match(head) && !Is(head) && hasGeneric.Match(head)
}

// ReadAll reads a dump, or an answer of CSDS, which may be of several clients. Beside
// an error is what is before it.
func ReadAll(data []byte) ([]*Dump, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it is longer than %d MiB", MaxBytes>>20)
	}
	if !IsStatus(data[:min(len(data), 64<<10)]) {
		r, err := read(data)
		if r == nil || err != nil && len(r.dump.Resources) == 0 {
			return nil, err
		}
		return []*Dump{r.dump}, err
	}
	s := &statuses{d: json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte(mark)))), in: inspect.New(nil), of: map[string]*Dump{}}
	var err error
	if beginsStatus.Match(data) {
		err = object(s.d, func(key string) error {
			if key != "config" {
				return skip(s.d)
			}
			return list(s.d, s.client)
		})
	} else {
		err = s.client()
	}
	return s.all, inMiddle(err)
}

func inMiddle(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return err
}

// statuses reads an answer of CSDS.
type statuses struct {
	d   *json.Decoder
	in  *inspect.Inspector
	all []*Dump
	of  map[string]*Dump // by node
}

const maxClients = 10_000

// client reads a ClientConfig. Those of one node are one client: a program has one
// for each xDS client in it.
func (s *statuses) client() error {
	r := &reader{in: s.in, dump: &Dump{By: ByCSDS, sources: map[string]State{}}}
	old := false
	err := object(s.d, func(key string) error {
		switch key {
		case "node":
			var node struct{ ID string }
			err := lax(s.d, &node)
			r.dump.Node = clipped(node.ID)
			return err
		case "genericxdsconfigs":
			return list(s.d, func() error {
				var raw json.RawMessage
				if err := s.d.Decode(&raw); err != nil {
					return err
				}
				r.generic(raw)
				return nil
			})
		case "xdsconfig":
			old = true
		}
		return skip(s.d)
	})
	if old {
		r.note("the form of before 2021 (xds_config) is not read")
	}
	was := s.of[r.dump.Node]
	if was == nil && len(s.all) >= maxClients {
		return fmt.Errorf("it has more than %d clients", maxClients)
	}
	if was == nil {
		s.of[r.dump.Node] = r.dump
		s.all = append(s.all, r.dump)
		return err
	}
	was.Resources = append(was.Resources, r.dump.Resources...)
	for _, typ := range r.dump.types {
		was.has(typ)
	}
	for _, n := range r.dump.Notes {
		(&reader{dump: was}).note("%s", n)
	}
	return err
}

// generic reads a GenericXdsConfig. One that was rejected may say what is in use, too.
func (r *reader) generic(raw json.RawMessage) {
	all, ok := fields(raw)
	if !ok {
		r.note("an entry is no object")
		return
	}
	of := decode.ResourceStatus{Client: clientStatus(all["clientstatus"])}
	_ = json.Unmarshal(all["isstaticresource"], &of.Static)
	url := text(all["typeurl"])
	res := Resource{
		Type: xds.ShortType(url), TypeURL: url, Name: text(all["name"]), Version: text(all["versioninfo"]), Updated: moment(all["lastupdated"]),
	}
	r.dump.has(res.Type)
	content, has := fields(all["xdsconfig"])
	has = has && len(content) > 0
	if has {
		of.Body = []byte{}
	}
	res.State = of.Held()
	if res.State == Failed {
		failed, _ := fields(all["errorstate"])
		bad := res
		bad.Version, bad.Updated, bad.Details = text(failed["versioninfo"]), moment(failed["lastupdateattempt"]), text(failed["details"])
		r.resource(bad, failed["failedconfiguration"])
		if !has {
			return
		}
		res.State = Active
	}
	if !has {
		all["xdsconfig"] = nil
	}
	r.resource(res, all["xdsconfig"])
}

// clientStatus is the word of a ClientResourceStatus, which may be a number.
func clientStatus(raw json.RawMessage) string {
	words := []string{"UNKNOWN", "REQUESTED", "DOES_NOT_EXIST", "ACKED", "NACKED", "RECEIVED_ERROR", "TIMEOUT"}
	if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 && n < len(words) {
		return words[n]
	}
	return text(raw)
}

// OfStatus is what clients say in answers of CSDS, as a recording has them. That nothing
// is said of a type does not tell that there is none of it.
func OfStatus(answers []decode.ClientStatus) (out []*Dump) {
	of := map[string]*reader{}
	in := inspect.New(nil)
	for i := range answers {
		for _, c := range answers[i].Configs {
			r := of[c.NodeID]
			if r == nil {
				r = &reader{in: in, dump: &Dump{By: ByCSDS, Node: clipped(c.NodeID), sources: map[string]State{}}}
				of[c.NodeID] = r
				out = append(out, r.dump)
			}
			for j := range c.Resources {
				r.status(&c.Resources[j])
			}
		}
	}
	for _, r := range of {
		r.finish()
	}
	return out
}

func (r *reader) status(of *decode.ResourceStatus) {
	if strings.HasPrefix(of.TypeURL, xds.AdminPrefix) || r.full() {
		return
	}
	res := Resource{
		Type: xds.ShortType(of.TypeURL), TypeURL: cmp.Or(of.BodyURL, of.TypeURL), Name: decode.NormalName(clipped(of.Name)), State: of.Held(), Version: clipped(of.Version),
	}
	r.dump.has(res.Type)
	switch {
	case res.State == Failed:
		res.Details = clipped(of.Error)
	case of.Error != "":
		res.Unread = []string{clipped(of.Error)}
	}
	if of.Body != nil && res.State != Failed {
		r.body(&res, of.Body)
	}
	r.dump.Resources = append(r.dump.Resources, res)
}
