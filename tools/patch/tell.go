package patch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"zuno/tools"
	"zuno/tools/files"
)

// keep has what the files are stored before the first of them is changed.
func (p *plan) keep(ctx context.Context, env tools.Env) (name string, f *files.Failure) {
	if env.KeepPreImages == nil {
		return "", nil
	}
	var images []tools.PreImage
	for _, c := range p.changes {
		if c.was.exists && c.alters() {
			images = append(images, tools.PreImage{Path: c.path.Real, Mode: uint32(c.was.stat.Mode) & 0o7777, Content: c.was.content})
		}
	}
	if len(images) == 0 {
		return "", nil
	}
	name, err := env.KeepPreImages(ctx, images)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", files.Refuse(tools.ClassCancelled, "Cancelled before anything was changed.")
	case err != nil:
		return "", files.Refuse(tools.ClassIO, "What the files hold now could not be kept: %v. Nothing was changed.", err)
	}
	return name, nil
}

// tell says what was done, for the model and as typed files with their texts.
func (p *plan) tell(r *tools.Result) {
	var lines []string
	for _, c := range p.changes {
		r.Files = append(r.Files, c.file())
		switch c.kind() {
		case tools.WasRead:
			lines = append(lines, fmt.Sprintf("%s is so already; it was not written", c.path.Named))
		case tools.Deleted:
			if c.moved == "" {
				lines = append(lines, fmt.Sprintf("deleted %s (−%d)", c.path.Named, c.removed))
			}
		case tools.Added, tools.Modified:
			lines = append(lines, c.done())
		}
	}
	r.Text = "The patch was applied:\n" + strings.Join(lines, "\n")
	if r.PreImages != "" {
		r.Text += "\nWhat the files were before is kept in " + r.PreImages + "."
	}
}

func (c *change) done() string {
	counts := fmt.Sprintf("(+%d −%d)", c.added, c.removed)
	switch {
	case c.from != "" && c.was.exists:
		return fmt.Sprintf("moved %s to %s %s, over the file that was there", c.from, c.path.Named, counts)
	case c.from != "":
		return fmt.Sprintf("moved %s to %s %s", c.from, c.path.Named, counts)
	case c.was.exists:
		return fmt.Sprintf("updated %s %s", c.path.Named, counts)
	}
	return fmt.Sprintf("added %s (+%d)", c.path.Named, c.added)
}

func (c *change) file() tools.File {
	f := tools.File{Path: c.path.Named, Resolved: c.path.Real, Change: c.kind(), Digest: c.digest, Size: uint64(len(c.content))}
	if !c.stays {
		f.Digest, f.Size = c.was.digest, uint64(len(c.was.content))
	}
	if f.Change != tools.WasRead && len(c.was.content) <= files.MaxDiff && len(c.content) <= files.MaxDiff &&
		files.IsText(c.was.content) && files.IsText(c.content) {
		f.HasDiff, f.Old, f.New = true, string(c.was.content), string(c.content)
	}
	return f
}

// replayed refuses an operation that this session has settled against just these contents.
func (p *plan) replayed(met tools.Operation) tools.Result {
	const required = "Do not send it again. Revise the patch, or wait until a file really changes and read it again."
	says := func(path string) string {
		return "this very patch was settled before against what " + path + " holds now."
	}
	var conflicts []*conflict
	for _, c := range p.conflicts {
		c.Class, c.says, c.Required = tools.ClassIdenticalReplay, says(c.Resource), required
		conflicts = append(conflicts, c)
	}
	for _, c := range p.changes {
		conflicts = append(conflicts, newConflict(tools.ClassIdenticalReplay, c.path, c.was, says(c.path.Named), required))
	}
	r := refused(p.operation, conflicts)
	r.Operation = &met
	return r
}

func digestOfFile(file *files.Source) (digest [32]byte, err error) {
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err != nil {
		return digest, err
	}
	sum.Sum(digest[:0])
	return digest, nil
}
