package fake

import (
	"strings"

	"zuno/internal/model"
)

// Long is an answer of a number of words, each a chunk, as models stream them.
func Long(words int) Answer {
	a := Answer{Usage: &model.Usage{}}
	for i := range words {
		a.Text = append(a.Text, []string{"the ", "quick ", "brown ", "fox\n"}[i%4])
	}
	return a
}

// Stream is the whole stream of an answer.
func (s Surface) Stream(a *Answer) string { return strings.Join(s.Events(a), "") }
