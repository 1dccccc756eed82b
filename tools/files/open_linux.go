package files

import "golang.org/x/sys/unix"

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
