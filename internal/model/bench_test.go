package model_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"zuno/internal/model"
	"zuno/internal/model/fake"
)

// BenchmarkClient compares a surface's client with the least that its stream asks for: its lines read through bufio, and the JSON of
// each decoded into a struct of what a client needs. Both read the same answer of 2,000 words from the same server, in turn.
//
// spec: D239
func BenchmarkClient(b *testing.B) {
	for _, s := range surfaces {
		b.Run(string(s.surface), func(b *testing.B) {
			stream := s.surface.Stream(new(fake.Long(2000)))
			server := fake.Start(s.surface)
			defer server.Close()
			w := &world{surface: s.surface, make: s.make, clock: &manual{}, server: server}
			p := s.make(w.options())
			answer := fake.Answer{Raw: stream}
			var bare, ours time.Duration
			for b.Loop() {
				server.Push(answer, answer)
				start := time.Now()
				if err := barely(server.BaseURL()+s.surface.Path(), s.surface); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				text := 0
				if _, err := p.Stream(b.Context(), hello(), func(c model.Chunk) error { text += len(c.Text); return nil }); err != nil || text == 0 {
					b.Fatal(err)
				}
				bare, ours = bare+middle.Sub(start), ours+time.Since(middle)
			}
			b.ReportMetric(float64(ours)/float64(bare), "ratio")
			b.ReportMetric(1.2, "limit")
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/answer")
		})
	}
}

// needed is what the events of a surface hold for a client.
func needed(s fake.Surface) any {
	switch s {
	case fake.Chat:
		return &struct {
			Choices []struct {
				Index int `json:"index"`
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Index    int    `json:"index"`
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
			Usage json.RawMessage `json:"usage"`
		}{}
	case fake.Responses:
		return &struct {
			Type         string          `json:"type"`
			OutputIndex  int             `json:"output_index"`
			ContentIndex int             `json:"content_index"`
			Delta        string          `json:"delta"`
			Item         json.RawMessage `json:"item"`
			Response     json.RawMessage `json:"response"`
		}{}
	default:
		return &struct {
			Type  string `json:"type"`
			Index int    `json:"index"`
			Block struct {
				Type string `json:"type"`
				ID   string `json:"id"`
				Name string `json:"name"`
			} `json:"content_block"`
			Delta struct {
				Type       string `json:"type"`
				Text       string `json:"text"`
				Thinking   string `json:"thinking"`
				JSON       string `json:"partial_json"`
				StopReason string `json:"stop_reason"`
			} `json:"delta"`
			Usage json.RawMessage `json:"usage"`
		}{}
	}
}

func barely(url string, s fake.Surface) error {
	resp, err := http.Post(url, "application/json", strings.NewReader("{}")) //nolint:noctx // the bare minimum
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r := bufio.NewReaderSize(resp.Body, 256<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF { //nolint:errorlint // it comes bare
			return nil
		}
		if err != nil {
			return err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok || bytes.HasPrefix(data, []byte("[DONE]")) {
			continue
		}
		if err := json.Unmarshal(data, needed(s)); err != nil {
			return err
		}
	}
}
