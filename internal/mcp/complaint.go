package mcp

import (
	"encoding/json"
	"io"
)

// complaints writes what the protocol itself says against a call, such as that a tool
// is not known, no longer than an answer may be: it repeats what was sent. A message
// comes in one Write.
type complaints struct{ io.WriteCloser }

func (c complaints) Write(line []byte) (int, error) {
	if _, err := c.WriteCloser.Write(shortComplaint(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func shortComplaint(line []byte) []byte {
	if len(line) <= MaxAnswer {
		return line
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil || m.Error == nil {
		return line
	}
	m.Error.Message = cut(m.Error.Message, maxPlace)
	short, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return append(short, '\n')
}
