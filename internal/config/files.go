package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// MaxFile is the largest configuration document, in bytes.
const MaxFile = 1 << 20

// fileName is the only name of a configuration file.
const fileName = "zuno.json"

// inline is the variable that holds a whole document, and stands for a file's name in errors.
const inline = "ZUNO_CONFIG_CONTENT"

// Worktree returns the root of the worktree that an absolute folder lies in: the nearest folder upward that holds
// `.git`. Outside of one it is the folder itself. Links on the way are resolved, as git does.
func Worktree(folder string) string {
	folder = resolved(folder)
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return folder
		}
	}
}

func resolved(folder string) string {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		return real
	}
	return filepath.Clean(folder)
}

// layers reads every document that exists, low to high.
func (o Options) layers() ([]*node, *Error) {
	var docs []*node
	var global fs.FileInfo
	if dir := o.dir("XDG_CONFIG_HOME", ".config"); dir != "" {
		src := &source{name: filepath.Join(dir, fileName), dir: dir}
		doc, info, err := readFile(src)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			docs, global = append(docs, doc), info
		}
	}
	for _, dir := range walk(o.Cwd) {
		src := &source{name: filepath.Join(dir, fileName), dir: dir, project: true}
		doc, info, err := readFile(src)
		if err != nil {
			return nil, err
		}
		if doc != nil && (global == nil || !os.SameFile(global, info)) {
			docs = append(docs, doc)
		}
	}
	if text := o.env(inline); text != "" {
		src := &source{name: inline, dir: o.Cwd}
		if len(text) > MaxFile {
			return nil, tooLarge(src)
		}
		doc, err := parse(src, []byte(text))
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// walk lists the folders from the worktree's root down to a folder.
func walk(folder string) []string {
	root, dir := Worktree(folder), resolved(folder)
	dirs := []string{dir}
	for dir != root {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// readFile reads a document; one that does not exist is nil. It never waits: a pipe is opened without blocking and then
// refused for what it is.
func readFile(src *source) (*node, fs.FileInfo, *Error) {
	unreadable := func(why string, cause error) *Error {
		return &Error{
			Code: Unreadable, What: "the configuration file cannot be read: " + why,
			Places: []Place{{File: src.name}}, Fix: "make it a readable file, or move it away", cause: cause,
		}
	}
	f, err := os.OpenFile(src.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		_, missing := os.Lstat(src.name)
		if missing != nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return nil, nil, nil
		}
		return nil, nil, unreadable(cause(err), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, unreadable(cause(err), err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, unreadable("it is no regular file", nil)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, nil, unreadable(cause(err), err)
	}
	if len(data) > MaxFile {
		return nil, nil, tooLarge(src)
	}
	doc, bad := parse(src, data)
	return doc, info, bad
}

// cause is an error without the path, which has its own place.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func tooLarge(src *source) *Error {
	return &Error{
		Code: TooLarge, What: fmt.Sprintf("the configuration is larger than %d bytes", MaxFile),
		Places: []Place{{File: src.name}}, Fix: "shorten it",
	}
}
