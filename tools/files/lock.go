package files

import (
	"context"

	"zuno/tools"
)

// mutation is held while files are examined and changed: what was validated is still so when it is written, as far as
// this process goes. Other processes are found out by the file's own state at the moment of placing.
var mutation = make(chan struct{}, 1)

// Lock waits until no other call of this process changes files. The caller unlocks.
func Lock(ctx context.Context) (unlock func(), f *Failure) {
	select {
	case mutation <- struct{}{}:
		return func() { <-mutation }, nil
	case <-ctx.Done():
		return nil, Refuse(tools.ClassCancelled, "Cancelled before anything was written.")
	}
}
