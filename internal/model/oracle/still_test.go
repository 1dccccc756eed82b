//go:build oracle

package oracle

import "time"

// still is a clock that does not move.
type still struct{}

func (still) Now() int64                             { return 0 }
func (still) AfterFunc(time.Duration, func()) func() { return func() {} }
