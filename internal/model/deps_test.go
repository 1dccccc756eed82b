package model_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The official clients, and the fake servers, are for tests: the product links none of them.
//
// spec: D219
func TestTheProductLinksNoOfficialClient(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "zuno/cmd/zuno").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"openai-go", "anthropic-sdk-go", "net/http/httptest", "zuno/internal/model/fake", "zuno/internal/model/oracle"} {
		if strings.Contains(string(out), bad) {
			t.Errorf("the product links %s", bad)
		}
	}
}
