package schema

import "encoding/json"

// Types of a SessionConfigOption.
const (
	ConfigSelect  = "select"
	ConfigBoolean = "boolean"
)

// SelectOption is a configuration option with one of several values.
func SelectOption(id, name string, category SessionConfigOptionCategory, current string, values ...SessionConfigSelectOption) SessionConfigOption {
	return SessionConfigOption{ID: id, Name: name, Category: category, Type: ConfigSelect, CurrentValue: must(current), Options: must(list(values))}
}

// GroupedOption is a SelectOption whose values are shown in groups.
func GroupedOption(id, name string, category SessionConfigOptionCategory, current string, groups ...SessionConfigSelectGroup) SessionConfigOption {
	return SessionConfigOption{ID: id, Name: name, Category: category, Type: ConfigSelect, CurrentValue: must(current), Options: must(list(groups))}
}

// BooleanOption is a configuration option that is on or off. Only for clients that
// have the capability.
func BooleanOption(id, name string, category SessionConfigOptionCategory, on bool) SessionConfigOption {
	return SessionConfigOption{ID: id, Name: name, Category: category, Type: ConfigBoolean, CurrentValue: must(on)}
}

// must encodes what always encodes: strings, booleans and lists of strings.
func must(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Text is the value that a client chose: the string of a select, or "true" or
// "false". It reports false for a value of any other type.
func (r SetSessionConfigOptionRequest) Text() (string, bool) {
	var s string
	if len(r.Value) > 0 && r.Value[0] == '"' && json.Unmarshal(r.Value, &s) == nil {
		return s, true
	}
	if b, ok := r.Bool(); ok {
		if b {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// Bool is the value of a boolean option.
func (r SetSessionConfigOptionRequest) Bool() (value, ok bool) {
	switch string(r.Value) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
