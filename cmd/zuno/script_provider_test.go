package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"zuno/internal/model"
	"zuno/internal/model/fake"
)

type serversKey struct{}

// scriptedAnswer is an answer of a script's server, as the YAML of its file has it.
type scriptedAnswer struct {
	Text      []string `yaml:"text"` // each a chunk
	Reasoning []string `yaml:"reasoning"`
	Calls     []struct {
		ID   string `yaml:"id"`
		Tool string `yaml:"tool"`
		Args string `yaml:"args"` // JSON
	} `yaml:"calls"`
	Usage *struct {
		Input     uint64  `yaml:"input"`
		Output    uint64  `yaml:"output"`
		CacheRead *uint64 `yaml:"cache_read"`
	} `yaml:"usage"`
	Finish  string            `yaml:"finish"`
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`   // in place of a stream
	Broken  bool              `yaml:"broken"` // the connection is torn down after what is there
}

func (s *scriptedAnswer) answer() fake.Answer {
	a := fake.Answer{
		Text: s.Text, Reasoning: s.Reasoning, Finish: s.Finish, Status: s.Status, Raw: s.Body,
		NoMarker: s.Broken, NoDone: s.Broken, Abort: s.Broken, Header: http.Header{},
	}
	for _, c := range s.Calls {
		a.Calls = append(a.Calls, fake.Call{ID: c.ID, Tool: c.Tool, Args: []string{c.Args}})
	}
	if u := s.Usage; u != nil {
		a.Usage = &model.Usage{Input: &u.Input, Output: &u.Output, CacheRead: u.CacheRead}
	}
	for name, value := range s.Headers {
		a.Header.Set(name, value)
	}
	return a
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_]+)\}`)

// filled is a file of the script with its ${VARIABLES} in their places.
func filled(ts *testscript.TestScript, file string) string {
	return variable.ReplaceAllStringFunc(ts.ReadFile(file), func(v string) string { return ts.Getenv(v[2 : len(v)-1]) })
}

// cmdProvider starts a provider's server, or looks at what one was asked.
func cmdProvider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: provider NAME chat|responses|messages FILE, provider NAME asked N, provider NAME request N")
	}
	servers := ts.Value(serversKey{}).(map[string]*fake.Server)
	name, verb, operand := args[0], args[1], args[2]
	switch verb {
	case "asked", "request":
		s := servers[name]
		n, err := strconv.Atoi(operand)
		if s == nil || err != nil {
			ts.Fatalf("provider %s %s %s: no such server, or no number", name, verb, operand)
		}
		requests := s.Requests()
		if verb == "asked" {
			if len(requests) != n {
				ts.Fatalf("the server was asked %d times", len(requests))
			}
			return
		}
		if n < 1 || n > len(requests) {
			ts.Fatalf("the server was asked %d times", len(requests))
		}
		r := requests[n-1]
		fmt.Fprintln(ts.Stdout(), r.Method, r.Path)
		for _, h := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(ts.Stdout(), "%s: %s\n", h, strings.Join(r.Header[h], ", "))
		}
		fmt.Fprintf(ts.Stdout(), "\n%s\n", r.Body)
	case string(fake.Chat), string(fake.Responses), string(fake.Messages):
		var scripted []scriptedAnswer
		decoder := yaml.NewDecoder(strings.NewReader(filled(ts, operand)))
		decoder.KnownFields(true)
		ts.Check(decoder.Decode(&scripted))
		answers := make([]fake.Answer, len(scripted))
		for i := range scripted {
			answers[i] = scripted[i].answer()
		}
		if old := servers[name]; old != nil {
			old.Close()
		}
		servers[name] = fake.Start(fake.Surface(verb), answers...)
		ts.Setenv(name+"_URL", servers[name].BaseURL())
	default:
		ts.Fatalf("provider: what is %q?", verb)
	}
}

// cmdConfig writes the global configuration.
func cmdConfig(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: config FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(ts.Getenv("WORK")+"/config/zuno/zuno.json"), []byte(filled(ts, args[0])), 0o600))
}
