//go:build !linux

package journal

import "os"

// namelessFile is nil where the file system cannot make one.
func namelessFile() *os.File { return nil }
