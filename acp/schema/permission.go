package schema

// Answers to an elicitation.
const (
	ElicitationAccept  = "accept"
	ElicitationDecline = "decline"
	ElicitationCancel  = "cancel"
)

// AskPermission is a request for permission to run a tool call that was announced.
func AskPermission(sessionID string, call ToolCallUpdate, options ...PermissionOption) RequestPermissionRequest {
	return RequestPermissionRequest{SessionID: sessionID, ToolCall: call, Options: options}
}

// Option is one answer to a request for permission.
func Option(id, name string, kind PermissionOptionKind) PermissionOption {
	return PermissionOption{OptionID: id, Name: name, Kind: kind}
}

// Selected is the option that was chosen. It reports false when the client
// cancelled the request or answered with something unknown.
func (r RequestPermissionResponse) Selected() (id string, ok bool) {
	if s := r.Outcome.SelectedPermissionOutcome; s != nil {
		return s.OptionID, true
	}
	return "", false
}
