package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// spec: D259
func TestSetAside(t *testing.T) {
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	to := filepath.Join(t.TempDir(), "aside")
	var used *InUse
	if err := SetAside(f.dir, to); !errors.As(err, &used) || used.PID != os.Getpid() {
		t.Fatalf("one that is owned: %v", err)
	}
	mustAppend(t, f, testCommit(2, 1)) // nothing has happened to it
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// An inspector that reads it meanwhile goes on.
	r, err := OpenRead(f.dir, ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := SetAside(f.dir, to); err != nil {
		t.Fatal(err)
	}
	if err := r.Scan(1, ignore); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(f.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is still in its place")
	}
	g, err := Open(to, Options{}, ignore)
	if err != nil || g.Head().Number != 2 {
		t.Fatal("it is not whole", err)
	}
	g.Close()
	if err := SetAside(f.dir, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
}

// What stands in a session's place is set aside whatever it is, and where a link leads to nothing is touched.
//
// spec: D259
func TestSetAsideWhatIsNoSession(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	f := create(t, Options{})
	mustAppend(t, f, testCommit(1, 1))
	f.Close()
	if err := errors.Join(os.Mkdir(at("empty"), 0o700), os.WriteFile(at("file"), nil, 0o600), os.Symlink(f.dir, at("link")), os.Symlink(at("nowhere"), at("dangling")),
		os.Mkdir(at("damaged"), 0o700), os.WriteFile(filepath.Join(at("damaged"), journalFile), []byte("no journal"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "file", "link", "dangling", "damaged"} {
		if err := SetAside(at(name), at(name+".aside")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(at(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still in its place", name)
		}
	}
	if err := os.RemoveAll(at("link.aside")); err != nil {
		t.Fatal(err)
	}
	g, err := Open(f.dir, Options{}, ignore)
	if err != nil {
		t.Fatalf("what the link leads to was touched: %v", err)
	}
	g.Close()
}
