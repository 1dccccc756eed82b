package patch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"zuno/tools"
	"zuno/tools/files"
)

// disk is what changes files. A test exchanges it to break it at a step.
type disk struct {
	stage  func(dir int, content []byte, like *unix.Stat_t) (*files.Staged, error)
	place  func(dir int, name, base string, old *unix.Stat_t) error
	remove func(dir int, base string, old *unix.Stat_t) error
	sync   func(dir int) error
}

var realDisk = disk{stage: files.Stage, place: files.Place, remove: files.Remove, sync: files.SyncFolder}

func run(ctx context.Context, env tools.Env, w tools.Where, targets []target, d disk) tools.Result {
	unlock, f := files.Lock(ctx)
	if f != nil {
		return f.Result()
	}
	defer unlock()
	p, f := newPlan(ctx, env, w, targets)
	if f != nil {
		return f.Result()
	}
	defer p.dirs.close()
	if len(p.conflicts) > 0 {
		return p.refusedBy(env, targets)
	}
	met := tools.Operation{Digest: p.operation, State: p.state(targets, false)}
	if env.Replayed != nil && env.Replayed(met) {
		return p.replayed(met)
	}
	kept, f := p.keep(ctx, env)
	if f != nil {
		return f.Result()
	}
	r := p.write(ctx, d)
	switch r.Outcome {
	case tools.OK:
		r.Operation = &tools.Operation{Digest: p.operation, State: p.state(targets, true)}
		r.PreImages = kept
	case tools.Uncertain:
		r.PreImages = kept
	}
	p.settle(&r)
	return r
}

// refusedBy tells the conflicts. The operation is remembered where sending it again as it is cannot help: a patch that
// lacks a read is right to come again.
func (p *plan) refusedBy(env tools.Env, targets []target) tools.Result {
	r := refused(p.operation, p.conflicts)
	for _, c := range p.conflicts {
		if c.Class != tools.ClassContextMismatch && c.Class != tools.ClassIdenticalReplay {
			return r
		}
	}
	met := tools.Operation{Digest: p.operation, State: p.state(targets, false)}
	if env.Replayed != nil && env.Replayed(met) {
		return p.replayed(met)
	}
	r.Operation = &met
	return r
}

// write stages everything, then moves it into place. The two are apart so that what can fail for want of room, rights or
// folders fails while nothing is changed.
func (p *plan) write(ctx context.Context, d disk) tools.Result {
	staged, f := p.stage(ctx, d)
	if f != nil {
		return p.giveUp(staged, f)
	}
	touched := map[inode]bool{}
	for i := range staged {
		s := &staged[i]
		was := &s.change.was
		if was.exists && touched[inodeOf(&was.stat)] {
			files.Relinked(s.dir.fd, s.base, &was.stat)
		}
		err := s.put(d)
		switch {
		case err != nil && i == 0:
			return p.giveUp(staged, unplaced(s.change, err))
		case err != nil:
			discard(staged)
			return p.uncertain(s.change.path.Named, err)
		}
		s.staged = nil
		touched[inodeOf(&was.stat)] = was.exists
	}
	done := map[*folder]bool{}
	for _, s := range staged {
		if done[s.dir] {
			continue
		}
		done[s.dir] = true
		if err := d.sync(s.dir.fd); err != nil {
			return p.uncertain(filepath.Dir(s.change.path.Named), err)
		}
	}
	return tools.Result{Outcome: tools.OK}
}

// stage makes everything ready, in the order in which it is to be placed: what goes, goes last, so that a break leaves
// a file twice rather than not at all. What it returns beside a failure is to be given up.
func (p *plan) stage(ctx context.Context, d disk) (staged []placement, f *files.Failure) {
	synced := 0
	for _, c := range p.inOrder() {
		if ctx.Err() != nil {
			return staged, files.Refuse(tools.ClassCancelled, "Cancelled before anything was changed.")
		}
		s := placement{change: c, base: filepath.Base(c.path.Real)}
		var err error
		if s.dir, err = p.dirs.get(c.path.Real, c.stays); err == nil && c.was.exists {
			err = files.MayReplace(s.dir.fd, s.base, &c.was.stat)
		}
		if err == nil && c.stays {
			s.staged, err = d.stage(s.dir.fd, c.content, c.like)
		}
		if err == nil && c.like != nil {
			err = p.keepAttributes(c, s.staged)
		}
		staged = append(staged, s)
		if err != nil {
			return staged, unwritten(c.path.Named, err)
		}
		if len(staged)-synced == maxOpen {
			if err := syncAll(staged[synced:]); err != nil {
				return staged, unwritten("new content", err)
			}
			synced = len(staged)
		}
	}
	if err := syncAll(staged[synced:]); err != nil {
		return staged, unwritten("new content", err)
	}
	return staged, nil
}

func (p *plan) keepAttributes(c *change, s *files.Staged) error {
	dir, err := p.dirs.get(c.source, false)
	if err != nil {
		return err
	}
	return files.KeepAttributes(dir.fd, filepath.Base(c.source), s)
}

// inOrder are the changes that alter anything, those that make a file before those that take one away.
func (p *plan) inOrder() (changes []*change) {
	for _, stays := range []bool{true, false} {
		for _, c := range p.changes {
			if c.stays == stays && c.alters() {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

func (p *plan) giveUp(staged []placement, f *files.Failure) tools.Result {
	discard(staged)
	files.Unmake(p.dirs.made)
	return f.Result()
}

func unwritten(what string, err error) *files.Failure {
	f := files.FailureOf("write", what, err)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		f.Text += " There is no space left: free some, then call again."
	}
	return f
}

// placement is a change that is ready to be made.
type placement struct {
	change *change
	dir    *folder
	base   string
	staged *files.Staged // nil where nothing is, or no longer
}

// inode is a file, whatever its names are.
type inode struct{ device, number uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{device: uint64(st.Dev), number: st.Ino} }

// maxOpen bounds the descriptors that staged files hold.
const maxOpen = 128

func syncAll(staged []placement) error {
	for _, s := range staged {
		if s.staged == nil {
			continue
		}
		if err := s.staged.Sync(); err != nil {
			return err
		}
	}
	return nil
}

func discard(staged []placement) {
	for _, s := range staged {
		if s.staged != nil {
			s.staged.Discard()
		}
	}
}

func (s *placement) put(d disk) error {
	was := &s.change.was
	switch {
	case !s.change.stays:
		return d.remove(s.dir.fd, s.base, &was.stat)
	case was.exists:
		return d.place(s.dir.fd, s.staged.Name, s.base, &was.stat)
	}
	return d.place(s.dir.fd, s.staged.Name, s.base, nil)
}

func unplaced(c *change, err error) *files.Failure {
	if errors.Is(err, files.ErrOverwritten) {
		return files.Refuse(tools.ClassStaleRead, "%s was changed by someone else while the patch was applied. Nothing was changed. Read it and make the patch anew.", c.path.Named)
	}
	return files.FailureOf("write", c.path.Named, err)
}

// uncertain is a break after the first change. What it names was looked at, not concluded.
func (p *plan) uncertain(where string, err error) tools.Result {
	files.Unmake(p.dirs.made) // those that nothing has come into
	var text strings.Builder
	fmt.Fprintf(&text, "Uncertain: the patch broke off at %s (%v) after files were changed. It must not be sent again as it is.\n", where, err)
	seen := p.observed()
	if len(seen) == 0 {
		text.WriteString("No file of it was seen to be changed.\n")
	} else {
		text.WriteString("Seen to be changed:\n")
		for _, c := range seen {
			text.WriteString(c.path.Named + "\n")
		}
	}
	text.WriteString("Read every file of the patch and see what is there before anything else is changed.")
	return tools.Result{Outcome: tools.Uncertain, Class: tools.ClassIO, Text: text.String()}
}

// observed are the changes whose files are not what they were.
func (p *plan) observed() (seen []*change) {
	for _, c := range p.changes {
		now := state{}
		if file, f := files.Open(c.path.Real, c.path.Named); f == nil {
			now.exists = true
			now.digest, _ = digestOfFile(file)
			file.Close()
		}
		if now.exists != c.was.exists || now.exists && now.digest != c.was.digest {
			seen = append(seen, c)
		}
	}
	return seen
}

// entry is a change in the typed outcome.
type entry struct {
	Path    string       `json:"path"`
	Change  tools.Change `json:"change"`
	From    string       `json:"from,omitempty"`
	Digest  string       `json:"digest"` // SHA-256 afterwards; of a deleted file: before
	Size    int          `json:"size"`
	Added   int          `json:"lines_added"`
	Removed int          `json:"lines_removed"`
}

// settle fills in what the result says about files.
func (p *plan) settle(r *tools.Result) {
	changes := p.changes
	switch r.Outcome {
	case tools.OK:
		p.tell(r)
	case tools.Uncertain:
		changes = p.observed()
		if r.PreImages != "" {
			r.Text += "\nWhat the files were before is kept in " + r.PreImages + "."
		}
	default:
		changes = nil
	}
	entries := []entry{}
	for _, c := range changes {
		if !c.alters() {
			continue
		}
		content, digest := c.content, c.digest
		if !c.stays {
			content, digest = c.was.content, c.was.digest
		}
		entries = append(entries, entry{
			Path: c.path.Named, Change: c.kind(), From: c.from, Digest: hex.EncodeToString(digest[:]),
			Size: len(content), Added: c.added, Removed: c.removed,
		})
	}
	raw, err := json.Marshal(struct {
		Files     []entry `json:"files"`
		Operation string  `json:"operation_digest"`
		PreImages string  `json:"pre_images"`
	}{entries, hex.EncodeToString(p.operation[:]), r.PreImages})
	if err == nil { // strings and numbers always encode
		r.Raw = raw
	}
}

func (c *change) kind() tools.Change {
	switch {
	case !c.alters():
		return tools.WasRead
	case !c.stays:
		return tools.Deleted
	case c.was.exists:
		return tools.Modified
	}
	return tools.Added
}
