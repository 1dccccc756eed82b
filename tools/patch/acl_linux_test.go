package patch

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

// With an access list the mode's group bits are the most that anybody of the list may do: without the list, the file's
// group would be given that. So a file that is written anew has the list of the old one, and what users noted on it.
func TestAccessListIsKept(t *testing.T) {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 6, 12345}, {4, 0, ^uint32(0)}, {0x10, 6, ^uint32(0)}, {0x20, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	attributes := map[string][]byte{"system.posix_acl_access": list, "user.note": []byte("mine")}
	for to, change := range map[string]func(s *session) tools.Result{
		"f": func(s *session) tools.Result { return s.patch("*** Update File: f", "@@", "-one", "+two") },
		"g": func(s *session) tools.Result { return s.patch("*** Update File: f", "*** Move to: g") },
		"h": func(s *session) tools.Result {
			return s.patch("*** Update File: f", "*** Move to: sub/../h", "@@", "-one", "+two")
		},
		"./f": func(s *session) tools.Result {
			return s.run(s.prepare("write", map[string]any{"filePath": s.path("f"), "content": "two\n"}))
		},
	} {
		s := newSession(t)
		s.known("f", "one\n")
		for name, value := range attributes {
			if err := unix.Setxattr(s.path("f"), name, value, 0); err != nil {
				t.Skipf("%s: %v", name, err)
			}
		}
		is(t, change(s), tools.OK, "")
		for name, want := range attributes {
			got := make([]byte, 200)
			n, err := unix.Getxattr(s.path(to), name, got)
			if err != nil || !bytes.Equal(got[:n], want) {
				t.Errorf("%s: %s is %q (%v)", to, name, got[:max(n, 0)], err)
			}
		}
	}
}
