package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"zuno/journal"
	"zuno/journal/event"
)

// Command is the command type of every forged commit.
const Command = "test.forged"

// Event is an event with its wire name, which may be that of an older version.
type Event struct {
	Type    string
	Payload event.Payload
}

// Of are events of the current versions.
func Of(payloads ...event.Payload) (out []Event) {
	for _, p := range payloads {
		out = append(out, Event{event.TypeOf(p).Name, p})
	}
	return out
}

// Append adds one commit with these events to the journal in a session's folder, which nobody may own.
func Append(dir string, events ...Event) error {
	var at int64
	var run journal.RunID
	f, err := journal.Open(dir, journal.Options{Started: time.UnixMilli(0)}, func(c *journal.Raw) error {
		at, run = c.At, c.Run
		return nil
	})
	if err != nil {
		return err
	}
	texts := journal.NewTexts(f.Salt())
	c := &journal.Commit{
		Run: run, At: at + 1, Texts: texts,
		Command: journal.Command{ID: fmt.Sprintf("test:forged:%d", f.Head().Number+1), Type: Command, Version: 1, Actor: "test", Payload: []byte{0x80}},
	}
	c.Number = f.Head().Number + 1
	for _, e := range events {
		b, err := event.NewEncoder().Encode(e.Payload, texts)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		c.Events = append(c.Events, journal.Event{Stream: 1, Type: e.Type, Payload: b})
	}
	return errors.Join(f.Append([]*journal.Commit{c}), f.Close())
}

// Parse reads events, one a line: a wire name and a JSON object with the fields as they are exported. A text is a string.
func Parse(lines string) (out []Event, err error) {
	for line := range strings.Lines(lines) {
		name, fields, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		t := event.ByName([]byte(name))
		if t == nil {
			return nil, fmt.Errorf("no event type %s", name)
		}
		p := t.New()
		var values map[string]any
		if err := json.Unmarshal([]byte(fields), &values); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := fill(reflect.ValueOf(p).Elem(), values); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, Event{name, p})
	}
	return out, nil
}

var textType = reflect.TypeFor[event.Text]()

// fill sets v to what JSON said.
func fill(v reflect.Value, value any) error {
	switch x := value.(type) {
	case string:
		if v.Type() == textType {
			v.Set(reflect.ValueOf(event.NewText(x)))
			return nil
		}
		if v.Kind() == reflect.String {
			v.SetString(x)
			return nil
		}
	case float64:
		switch {
		case v.CanUint():
			v.SetUint(uint64(x))
			return nil
		case v.CanInt():
			v.SetInt(int64(x))
			return nil
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return nil
		}
	case []any:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), len(x), len(x)))
			for i := range x {
				if err := fill(v.Index(i), x[i]); err != nil {
					return err
				}
			}
			return nil
		}
	case map[string]any:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			return fields(v, x)
		}
	}
	return fmt.Errorf("%v is no %s", value, v.Type())
}

func fields(v reflect.Value, values map[string]any) error {
	byName := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		byName[name] = i
	}
	for name, value := range values {
		i, ok := byName[name]
		if !ok {
			return fmt.Errorf("%s has no field %q", v.Type(), name)
		}
		if err := fill(v.Field(i), value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
