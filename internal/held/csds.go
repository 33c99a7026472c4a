package held

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// Fields of ClientStatusResponse and of ClientConfig. A client has a ClientConfig for
// each of the xDS clients in it.
const configsField, nodeField, oldField, genericField = 1, 1, 2, 3

// fromStatus converts a ClientStatusResponse as a program sent it: its ClientConfigs
// become one, and an item that has both what was rejected and what is in use becomes
// two.
func fromStatus(data []byte) (*answer, error) {
	a := &answer{}
	old := false
	s := protoscan.Of(data)
	for s.Next() {
		if config, is := s.Bytes(); is && s.Num == configsField {
			o, err := a.addConfig(config)
			if err != nil {
				return nil, err
			}
			old = old || o
		}
	}
	switch {
	case s.Err != "":
		return nil, &fault{kind: "broken", text: "its answer is no ClientStatusResponse: " + s.Err}
	case old && len(a.items) == 0:
		return nil, &fault{kind: "old", text: "it answers in the form of before 2021 (xds_config), which is not read"}
	}
	return a, nil
}

func (a *answer) addConfig(config []byte) (old bool, err error) {
	s := protoscan.Of(config)
	for s.Next() {
		body, is := s.Bytes()
		switch {
		case !is:
		case s.Num == nodeField:
			id := string(protoscan.Last(body, 1))
			if a.node != nil && id != a.id {
				return old, &fault{kind: "nodes", text: "it is several nodes, which cannot be told apart"}
			}
			if a.id, a.node = strings.ToValidUTF8(id, "�"), body; len(body) > maxNode {
				a.node = appendText(nil, 1, a.id)
			}
		case s.Num == oldField:
			old = true
		case s.Num == genericField:
			if len(a.items) >= maxItems {
				return old, &fault{kind: "many", text: fmt.Sprintf("it holds more than %d resources", maxItems)}
			}
			if err := a.addGeneric(body); err != nil {
				return old, err
			}
		}
	}
	if s.Err != "" {
		err = &fault{kind: "broken", text: "its answer is no ClientStatusResponse: " + s.Err}
	}
	return old, err
}

// addGeneric adds one item. What a newer form of it has is kept.
func (a *answer) addGeneric(raw []byte) error {
	var k key
	var state uint64
	var inUse, failure []byte
	s := protoscan.Of(raw)
	for s.Next() {
		body, is := s.Bytes()
		switch {
		case s.Num == typeField && is:
			k.typeURL = strings.ToValidUTF8(string(body), "�")
		case s.Num == nameField && is:
			k.name = strings.ToValidUTF8(string(body), "�")
		case s.Num == configField && is:
			inUse = body
		case s.Num == errorField && is:
			failure = s.Raw()
		case s.Num == clientField:
			state = s.Varint()
		}
	}
	if s.Err != "" {
		return &fault{kind: "broken", text: "an item of its answer cannot be read: " + s.Err}
	}
	if state != nacked || len(inUse) == 0 {
		a.add(newItem(k, state, bytes.Clone(raw)))
		return nil
	}
	var used []byte
	for s := protoscan.Of(raw); s.Next(); {
		switch s.Num {
		case clientField:
			used = protowire.AppendVarint(protowire.AppendTag(used, clientField, protowire.VarintType), acked)
		case errorField:
		default:
			used = append(used, s.Raw()...)
		}
	}
	a.add(newItem(k, acked, used))
	failed := generic{key: k, state: nacked}
	one := failed.item()
	a.add(newItem(k, nacked, append(one.raw, failure...)))
	return nil
}

// add adds an item, unless it is there: two xDS clients in one program may hold the
// same.
func (a *answer) add(it item) {
	if a.seen == nil {
		a.seen = map[[32]byte]bool{}
	}
	if !a.seen[it.sum] {
		a.seen[it.sum] = true
		a.items = append(a.items, it)
	}
}
