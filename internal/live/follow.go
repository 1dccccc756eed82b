package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"zuno/journal"
)

// lookEvery is how often a session's files are looked at while no owner tells of its heads.
const lookEvery = 100 * time.Millisecond

// Follow calls fn with the head of a session and then with each newer one, one call at a time, until ctx ends, whose error
// it returns. Heads that come while fn runs are one call. It goes on when the owner leaves, comes back, or does not
// answer; an error before that says that there is no journal, or none that can be read. path is as for [Open].
func Follow(ctx context.Context, path string, fn func(journal.Head)) error {
	var last journal.Head
	told := false
	tell := func(h journal.Head) {
		if ctx.Err() == nil && (!told || h.Number > last.Number) {
			last, told = h, true
			fn(h)
		}
	}
	var before files
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for again := true; ; {
		// A change within one tick of the file system's clock after a look would not show: so one look more.
		if now := look(path); now != before || again {
			again = now != before
			before = now
			if err := followOnce(ctx, path, tell); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followOnce follows an owner as long as it tells, or else reads the present head.
func followOnce(ctx context.Context, path string, tell func(journal.Head)) error {
	for {
		o, err := journal.ReadOwner(folder(path))
		if err != nil || o.Socket == "" {
			break
		}
		heard := false
		err = follow(ctx, o.Socket, func(h journal.Head) {
			heard = true
			tell(h)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !heard || err == nil {
			break
		}
	}
	f, _, err := Open(journal.Inspection{Path: path, Fold: func(*journal.Raw) error { return ctx.Err() }})
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), closed(f))
	case err != nil:
		return err
	}
	tell(f.Head())
	return f.Close()
}

func closed(f *journal.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// files are what changes when a session gets a commit or an owner.
type files struct{ journal, owner stamp }

type stamp struct{ size, modified int64 }

func look(path string) files {
	dir := folder(path)
	if dir == path {
		path = filepath.Join(dir, "journal.zuno")
	}
	return files{stampOf(path), stampOf(filepath.Join(dir, "owner.json"))}
}

func stampOf(path string) stamp {
	st, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{st.Size(), st.ModTime().UnixNano()}
}
