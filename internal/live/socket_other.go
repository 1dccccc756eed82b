//go:build !linux

package live

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// errNone: what a socket must tell of its peer, and carry, is written for Linux. Elsewhere owners have none, and live
// sessions are read from verified copies.
var errNone = errors.New("there are no sockets for inspection on this system")

type socket struct{ pid, uid int }

func listen(string) (*socket, error) { return nil, errNone }
func dial(string) (*socket, error)   { return nil, errNone }

func (s *socket) accept() (*socket, error)                                { return nil, errNone }
func (s *socket) send(string, *os.File, time.Duration) error              { return errNone }
func (s *socket) receive(time.Duration) (m string, f *os.File, err error) { return "", nil, errNone }
func (s *socket) close()                                                  {}

func ownerOf(fs.FileInfo) int { return -1 }
func deserted(error) bool     { return false }
func crowded(error) bool      { return false }
