package engine

import (
	"context"
	"testing"
	"time"

	"zuno/journal/event"
)

// fakeAsker is a user who is asked.
type fakeAsker struct {
	requests chan PermissionRequest
	answers  chan event.Verdict
}

func newAsker() *fakeAsker {
	return &fakeAsker{make(chan PermissionRequest, 10), make(chan event.Verdict, 10)}
}

func (a *fakeAsker) AskPermission(ctx context.Context, r PermissionRequest) (event.Verdict, string) {
	a.requests <- r
	select {
	case v := <-a.answers:
		return v, "option"
	case <-ctx.Done():
		return event.VerdictCancelled, ""
	}
}

func (a *fakeAsker) asked(t *testing.T) PermissionRequest {
	t.Helper()
	select {
	case r := <-a.requests:
		return r
	case <-time.After(patience):
		t.Fatal("nobody was asked")
		return PermissionRequest{}
	}
}
