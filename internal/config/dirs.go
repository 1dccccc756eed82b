package config

import (
	"path/filepath"
)

// Dirs are the folders that zuno uses. None of them is created by looking for it.
type Dirs struct {
	Config string // of the global zuno.json; empty where no home is known
	Data   string // sessions and texts
	State  string // logs; empty where no home is known
}

// FindDirs locates the folders: $XDG_CONFIG_HOME/zuno, $XDG_DATA_HOME/zuno and $XDG_STATE_HOME/zuno, each under the
// home folder's usual place where its variable is unset or relative. ZUNO_DATA_DIR, or ZUNO_DB in its absence, names
// the data folder itself; a relative one is relative to the working folder of the process.
func FindDirs(o Options) (Dirs, error) {
	d := Dirs{
		Config: o.dir("XDG_CONFIG_HOME", ".config"),
		Data:   o.dir("XDG_DATA_HOME", ".local", "share"),
		State:  o.dir("XDG_STATE_HOME", ".local", "state"),
	}
	for _, name := range []string{"ZUNO_DATA_DIR", "ZUNO_DB"} {
		value := o.env(name)
		if value == "" {
			continue
		}
		if value == ":memory:" {
			return d, &Error{
				Code: InvalidValue, What: name + " must name a folder: sessions are kept on disk",
				Places: []Place{{File: name}}, Fix: "name an empty folder, such as one under /tmp",
			}
		}
		abs, err := filepath.Abs(value)
		if err != nil {
			return d, &Error{
				Code: NoFolder, What: name + " is relative and the working folder is unknown",
				Places: []Place{{File: name}}, Fix: "give it an absolute path", cause: err,
			}
		}
		d.Data = abs
		break
	}
	if d.Data == "" {
		return d, &Error{
			Code: NoFolder, What: "no home folder is known, so there is no place for sessions",
			Places: []Place{{File: "HOME"}}, Fix: "set HOME or ZUNO_DATA_DIR",
		}
	}
	return d, nil
}

// dir is zuno's folder under the one that a variable names, or under the home folder.
func (o Options) dir(variable string, below ...string) string {
	if base := o.env(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "zuno")
	}
	home := o.home()
	if home == "" {
		return ""
	}
	return filepath.Join(append(append([]string{home}, below...), "zuno")...)
}

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func (o Options) home() string {
	if o.Home != "" {
		return o.Home
	}
	if home := o.env("HOME"); filepath.IsAbs(home) {
		return home
	}
	return ""
}
