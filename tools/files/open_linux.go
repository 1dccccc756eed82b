package files

import "golang.org/x/sys/unix"

// folderFlags open a folder as a place to start from; it need not be readable.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// writeBack begins to write a file's pages to the disk and waits for none of them.
func writeBack(fd int) { _ = unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }
