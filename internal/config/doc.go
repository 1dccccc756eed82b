// Package config turns the layers of zuno's configuration into one [Config]: the global file, the files of a worktree
// from its root down to the folder, the inline document, flags. It reads files but takes the environment from its
// caller, accepts only keys that are built, and never prints a secret. What it refuses is an [*Error] of at most three
// lines: what, where, what to do.
//
// Read [Load] first.
package config
