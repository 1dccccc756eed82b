package files

import (
	"strings"

	"golang.org/x/sys/unix"
)

// folderFlags open a folder as a place to start from; it need not be readable.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// writeBack begins to write a file's pages to the disk and waits for none of them.
func writeBack(fd int) { _ = unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }

// heldFast tells of a file that not even its owner can move: it, or its folder, is immutable or takes appended data only,
// or something is mounted on it.
func heldFast(dir int, base string) error {
	for _, name := range []string{".", base} {
		var st unix.Statx_t
		if unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st) != nil {
			continue // the kernel does not say
		}
		switch {
		case st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0:
			return unix.EPERM
		case name == base && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
			return unix.EBUSY
		}
	}
	return nil
}

const accessList = "system.posix_acl_access"

// KeepAttributes gives a staged file the access list of the file that it stands for, and what users noted on it. Where the
// list cannot be kept nobody but the owner and everybody is allowed anything: the mode's group bits are the list's.
func KeepAttributes(fromDir int, from string, s *Staged) error {
	old, err := openat(fromDir, from, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(old) }()
	size, err := unix.Flistxattr(old, nil)
	if err != nil || size == 0 {
		return nil // a file system that has none
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(old, names); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:size]), "\x00"), "\x00") {
		if name != accessList && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, 64<<10) // the kernel's limit
		n, err := unix.Fgetxattr(old, name, value)
		if err == nil {
			err = unix.Fsetxattr(s.fd, name, value[:n], 0)
		}
		if err != nil && name == accessList {
			var st unix.Stat_t
			if err := unix.Fstat(s.fd, &st); err != nil {
				return err
			}
			if err := unix.Fchmod(s.fd, uint32(st.Mode)&0o7777&^0o070); err != nil {
				return err
			}
		}
	}
	return nil
}
