//go:build unix && !linux

package files

import "golang.org/x/sys/unix"

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func writeBack(int) {}

func heldFast(int, string) error { return nil }

// KeepAttributes keeps nothing on this system.
func KeepAttributes(int, string, *Staged) error { return nil }
