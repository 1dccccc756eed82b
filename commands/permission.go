package commands

import (
	"zuno/journal/event"
	"zuno/projections"
	"zuno/projections/lifecycle"
)

// AskPermission is the fence before the user is asked.
type AskPermission struct {
	Call string `msgpack:"call"`
}

// AnswerPermission is the user's answer.
type AnswerPermission struct {
	Permission string        `msgpack:"permission"`
	Verdict    event.Verdict `msgpack:"verdict"`
	Option     string        `msgpack:"option"`
}

var permissionRules = rules{
	rule("permission.ask", 1, askPermission),
	rule("permission.answer", 1, answerPermission),
}

func askPermission(v *projections.View, c *AskPermission, at Stamp) Decision {
	s := v.Root
	call, refused := runnableCall(s, c.Call)
	if refused != nil {
		return Decision{Refusal: refused}
	}
	if _, err := lifecycle.Call.Fire(call.State, lifecycle.CallAsk); err != nil || call.Permission != event.Ask {
		return refuse(CodeImpossible, "call %s is %s and its permission is %q", call.ID, call.State, call.Permission)
	}
	return events(&event.PermissionAsked{ID: at.ID("perm", 0), Call: call.ID})
}

// denials are what the model is told of a call that was not allowed.
var denials = map[event.Verdict]string{
	event.VerdictReject:        "The user rejected this call. Nothing was done. Do not try the same thing in another way; ask or go on without it.",
	event.VerdictCancelled:     "The permission request was closed without an answer. Nothing was done.",
	event.VerdictUnrecognized:  "The answer to the permission request was not one of its options, which counts as a rejection. Nothing was done.",
	event.VerdictUndeliverable: "The question whether this may run could not be put to the user, which counts as a rejection. Nothing was done.",
}

// answerPermission records an answer. One that was not on offer is a denial. The answer to the question of a dead process
// is recorded and touches no call: the one that it was about is over.
func answerPermission(v *projections.View, c *AnswerPermission, at Stamp) Decision {
	s := v.Root
	p := s.Permissions.Get(c.Permission)
	if p == nil {
		return refuse(CodeStale, "permission %s is not pending", c.Permission)
	}
	answered := &event.PermissionAnswered{ID: p.ID, Call: p.Call, Verdict: c.Verdict, Option: c.Option}
	if c.Verdict == event.VerdictAllow && c.Option == event.OptionAllowSession {
		answered.Session = p.Reusable
		if !p.Reusable {
			answered.Verdict = event.VerdictUnrecognized
		}
	}
	told, denied := denials[answered.Verdict]
	switch {
	case !denied && answered.Verdict != event.VerdictAllow:
		return refuse(CodeMalformed, "verdict %q", c.Verdict)
	case denied && !p.Abandoned:
		return events(answered, &event.CallBlocked{ID: p.Call, Kind: event.Denied, Text: event.NewText(told)})
	case answered.Session && !p.Abandoned:
		return Decision{Events: append([]event.Payload{answered}, alsoGranted(s, p, at)...)}
	}
	return events(answered)
}

// alsoGranted answers the questions about equal calls of the same response before they are put: the answer was for them, too.
func alsoGranted(s *projections.Session, p *projections.Permission, at Stamp) (out []event.Payload) {
	granted := s.Calls.Get(p.Call)
	if granted == nil {
		return nil
	}
	for _, c := range s.Calls.Open {
		if c != granted && c.Permission == event.Ask && c.State.Is("requested") && c.Reusable && c.Key == granted.Key {
			id := at.ID("perm", len(out))
			out = append(
				out,
				&event.PermissionAsked{ID: id, Call: c.ID},
				&event.PermissionAnswered{ID: id, Call: c.ID, Verdict: event.VerdictAllow, Grant: p.ID},
			)
		}
	}
	return out
}
