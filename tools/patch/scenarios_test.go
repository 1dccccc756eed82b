package patch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"zuno/tools"
)

// scenarioFolder is set to where the scenarios of another implementation of the format are: folders with patch.txt,
// expected/ and mostly input/ (openai/codex, codex-rs/apply-patch/tests/fixtures/scenarios).
const scenarioFolder = "APPLY_PATCH_SCENARIOS"

// The format is the one that models know: each scenario has the outcome that is expected of it there, but where this
// tool is stricter.
//
// spec: D234
func TestScenarios(t *testing.T) {
	dir := os.Getenv(scenarioFolder)
	if dir == "" {
		t.Skipf("%s does not name a folder of scenarios", scenarioFolder)
	}
	cases := []struct {
		name    string
		blocked bool
		class   string // of a refusal; the tree is unchanged then
		result  string // where it differs from expected/: what no_newline.txt holds
	}{
		{name: "001_add_file"},
		{name: "002_multiple_operations"},
		{name: "003_multiple_chunks"},
		{name: "004_move_to_new_directory"},
		{name: "005_rejects_empty_patch", blocked: true},
		{name: "006_rejects_missing_context", class: tools.ClassContextMismatch},
		{name: "007_rejects_missing_file_delete", class: tools.ClassNotFound},
		{name: "008_rejects_empty_update_hunk", blocked: true},
		{name: "009_requires_existing_file_for_update", class: tools.ClassNotFound},
		{name: "010_move_overwrites_existing_destination"},
		{name: "011_add_overwrites_existing_file", class: tools.ClassExists},
		{name: "012_delete_directory_fails", class: tools.ClassIsDirectory},
		{name: "013_rejects_invalid_hunk_header", blocked: true},
		{name: "014_update_file_appends_trailing_newline", result: "first line\nsecond line"},
		{name: "015_failure_after_partial_success_leaves_changes", class: tools.ClassNotFound},
		{name: "016_pure_addition_update_chunk"},
		{name: "017_whitespace_padded_hunk_header"},
		{name: "018_whitespace_padded_patch_markers"},
		{name: "019_unicode_simple"},
		{name: "020_delete_file_success"},
		{name: "020_whitespace_padded_patch_marker_lines"},
		{name: "021_update_file_deletion_only"},
		{name: "022_update_file_end_of_file_marker"},
	}
	found, err := os.ReadDir(dir)
	must(t, err)
	folders := 0
	for _, entry := range found {
		if entry.IsDir() {
			folders++
		}
	}
	if folders != len(cases) {
		t.Errorf("%d scenarios, %d are known", folders, len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(t)
			from := filepath.Join(dir, c.name)
			if _, err := os.Stat(filepath.Join(from, "input")); err == nil {
				must(t, os.CopyFS(s.where.Cwd, os.DirFS(filepath.Join(from, "input"))))
			}
			text, err := os.ReadFile(filepath.Join(from, "patch.txt"))
			must(t, err)
			args, err := json.Marshal(map[string]string{"patchText": string(text)})
			must(t, err)
			p, blocked := s.registry.Resolve(s.where, "apply_patch", string(args))
			if blocked != nil || c.blocked {
				if blocked == nil || !c.blocked || blocked.Kind != tools.InvalidArguments {
					t.Errorf("blocked: %+v", blocked)
				}
				return
			}
			if unread := s.unread(p); len(unread) > 0 { // before any read: nothing at all
				is(t, s.unchanged(func() tools.Result { return s.run(p) }), tools.Failed, tools.ClassReadRequired)
				for _, path := range unread {
					s.read(path)
				}
				p, _ = s.registry.Resolve(s.where, "apply_patch", string(args))
			}
			if c.class != "" {
				r := s.unchanged(func() tools.Result { return s.run(p) })
				is(t, r, tools.Failed, c.class)
				s.conflicts(r)
				return
			}
			is(t, s.run(p), tools.OK, "")
			if c.result != "" {
				s.holds("no_newline.txt", c.result)
				return
			}
			want := t.TempDir()
			must(t, os.CopyFS(want, os.DirFS(filepath.Join(from, "expected"))))
			if got, want := tree(t, s.where.Cwd), tree(t, want); got != want {
				t.Errorf("the tree is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// unread are the files of a call that exist.
func (s *session) unread(p tools.Prepared) (paths []string) {
	for _, path := range p.Paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}
