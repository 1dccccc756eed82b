package files

import "golang.org/x/sys/unix"

// folderFlags open a folder as a place to start from; it need not be readable.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
