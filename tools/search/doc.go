// Package search holds the tools glob and grep. Both drive rg (ripgrep 14 or newer), which is looked for on PATH when
// one of them is called, and only then; without it they fail and say so, there is no second way to search.
//
// What zuno adds to rg: arguments that cannot be taken for flags, a folder or file that is opened before rg is started
// and handed over open, bounds, a stable order, and names that are the files' own. Read [Register] first, then
// selection, which keeps one rule for ignored files in both tools.
package search
