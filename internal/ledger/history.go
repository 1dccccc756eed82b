package ledger

import (
	"slices"
	"strings"

	"zuno/internal/model"
)

// BadHistory says what no provider would accept: calls without exactly one result in the message that follows.
func BadHistory(r *model.Request) string {
	for i, m := range r.Messages {
		var calls, results []string
		for _, p := range m.Parts {
			if p.Kind == model.PartCall {
				calls = append(calls, p.CallID)
			}
		}
		if i+1 < len(r.Messages) {
			for _, p := range r.Messages[i+1].Parts {
				if p.Kind == model.PartResult {
					results = append(results, p.CallID)
				}
			}
		}
		slices.Sort(calls)
		slices.Sort(results)
		if !slices.Equal(calls, results) {
			return "message " + string(m.Role) + " has calls " + strings.Join(calls, " ") + " and is followed by results " + strings.Join(results, " ")
		}
	}
	return ""
}
