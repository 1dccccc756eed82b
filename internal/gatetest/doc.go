// Package gatetest forges the gates that no part of this build raises into real sessions, and looks at what the real binary tells an
// editor of them. It has tests only; the first to read is TestEachGateIsToldExactly.
package gatetest
