package journal

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// NetworkFS names the network file system that dir lies on, or will lie on when it is made; "" when it is none, or when
// that cannot be told.
func NetworkFS(dir string) string {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == nil {
			return networkName(uint32(st.Type))
		}
		parent := filepath.Dir(dir)
		if err != unix.ENOENT || parent == dir {
			return ""
		}
		dir = parent
	}
}
