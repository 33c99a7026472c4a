package settings

import (
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/protofile"
)

// ReadTypes reads the types of --descriptors into Types.
func (ss *Settings) ReadTypes(con *console.Console) error {
	told, err := protofile.Read(con.Ctx, ss.Types, ss.descriptors, ss.protoPath)
	for _, text := range told {
		con.Warn("%s", text)
	}
	if err != nil {
		return console.Failed("%w", err).Hint("%s", protofile.Hint(err))
	}
	return nil
}

// Embedded are the descriptors that a recording is to have with it; nil: none.
func (ss *Settings) Embedded() ([]byte, error) {
	if !ss.EmbedDescriptors {
		return nil, nil
	}
	set := ss.Types.Set()
	if len(set) == 0 {
		return nil, console.Misused("--embed-descriptors, and no type is described that is not built in").Hint("--descriptors FILE says which")
	}
	return set, nil
}
