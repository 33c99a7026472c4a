package settings

import "errors"

// fileValues are the settings of watching files.
type fileValues struct {
	dirs      []string
	bootstrap string
}

func (v *fileValues) bind() []*Setting {
	*v = fileValues{}
	return []*Setting{
		row(groupFiles, "files", newMany(&v.dirs, "DIR", notEmpty),
			"watch the files of Envoy's filesystem subscriptions in this directory, and record each change; repeat it for several; --upstream is not needed then"),
		row(groupFiles, "envoy-bootstrap", Text{&v.bootstrap, "FILE"},
			"the bootstrap of the Envoy that reads them, or what its /config_dump says: which files it subscribes to, and whether with a watched_directory"),
	}
}

func notEmpty(s string) error {
	if s == "" {
		return errors.New("the name of a directory is missing")
	}
	return nil
}

// Files are the directories whose files are watched, and the bootstrap of the Envoy
// that reads them; "" for none.
func (ss *Settings) Files() (dirs []string, bootstrap string) {
	return ss.files.dirs, ss.files.bootstrap
}
