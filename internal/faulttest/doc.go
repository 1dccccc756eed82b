// Package faulttest holds tests of sessions whose disk, folder, clock or process fails under them: nothing acknowledged is
// lost, the process goes on, and there is one clear error or none. It has no code of its own; start with its TestMain.
package faulttest
