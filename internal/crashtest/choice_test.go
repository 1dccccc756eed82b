package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"zuno/acp/client"
	"zuno/acp/schema"
	"zuno/internal/engine"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/projections"
)

// Two hosts that differ in everything: provider, model, limits, level of reasoning, retries, and what they say.
const twoHosts = `{
  "model": "one/a",
  "provider": {
    "one": { "type": "scripted", "options": { "script": %q }, "models": { "a": { "limit": { "context": 1111, "output": 11 }, "reasoning": ["high"] } }, "retry": { "max_attempts": 1 } },
    "other": { "type": "scripted", "options": { "script": %q }, "models": { "b": { "limit": { "context": 2222, "output": 22 } } }, "retry": { "max_attempts": 2 } }
  }
}`

func hostsPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	one, other := filepath.Join(p.root, "one.yaml"), filepath.Join(p.root, "other.yaml")
	for name, text := range map[string]string{
		one: "responses:\n  - text: from one\nrepeat: true\n", other: "responses:\n  - text: from other\nrepeat: true\n",
		filepath.Join(p.root, "config", "zuno", "zuno.json"): fmt.Sprintf(twoHosts, one, other),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// turnHost is what a turn ran under.
type turnHost struct {
	model event.ModelChoice
	retry event.RetryPolicy
	said  string
}

var (
	oldHost = turnHost{event.ModelChoice{Provider: "one", Name: "a", Surface: "scripted", Context: 1111, Output: 11, Reasoning: "high"}, event.RetryPolicy{MaxAttempts: 1, WindowMS: 180000}, "from one"}
	newHost = turnHost{event.ModelChoice{Provider: "other", Name: "b", Surface: "scripted", Context: 2222, Output: 22}, event.RetryPolicy{MaxAttempts: 2, WindowMS: 180000}, "from other"}
)

// turnHosts reads what each turn of a journal ran under.
func turnHosts(dir string) (all []turnHost, err error) {
	fold := projections.NewFolder(projections.Options{})
	f, err := journal.OpenRead(dir, func(c *journal.Raw) error {
		if err := fold.Commit(c); err != nil {
			return err
		}
		d, err := engine.Decode(c)
		if err != nil {
			return err
		}
		for _, e := range d.Events {
			switch e := e.Payload.(type) {
			case *event.TurnStarted:
				all = append(all, turnHost{model: e.Model, retry: fold.View.Root.Turns.Active.Retry})
			case *event.ResponsePart:
				all[len(all)-1].said += e.Text.String()
			}
		}
		return nil
	})
	if err == nil {
		err = f.Close()
	}
	return all, err
}

func choose(ctx context.Context, c *client.Client, session, option, value string) error {
	return c.Call(ctx, schema.MethodSessionSetConfigOption, map[string]string{"sessionId": session, "configId": option, "value": value}, nil)
}

// The process is killed at every point of a change of the model, by which the provider, the limits, the level of reasoning and
// the retries change, too. The next turn has all of the old host or all of the new one, and the new one if the change was
// acknowledged.
//
// spec: A030
func TestKilledWhileTheHostIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the binary some dozen times")
	}
	binary := build(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*patience)
	defer cancel()
	was := map[string]int{}
	for n := 1; ; n++ {
		p := hostsPlace(t)
		c := p.start(t, binary, fmt.Sprintf("any:%d", n), false, nil)
		id, before, acknowledged := "", false, false
		_, err := c.Initialize(ctx)
		if err == nil {
			id, err = c.New(ctx, p.work)
		}
		if err == nil {
			err = choose(ctx, c, id, "reasoning", "high")
		}
		if err == nil {
			_, err = c.Prompt(id, "before").Wait(ctx)
			before = err == nil
		}
		if err == nil {
			acknowledged = choose(ctx, c, id, "model", "other/b") == nil
		}
		c.CloseInput()
		status, err := c.Wait(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !before { // it died before the change began
			continue
		}
		again := p.start(t, binary, "", false, nil)
		_, err = again.Initialize(ctx)
		if err := errors.Join(err, again.Load(ctx, id, p.work)); err != nil {
			t.Fatalf("point %d: %v", n, err)
		}
		_, err = again.Prompt(id, "after").Wait(ctx)
		again.CloseInput()
		if _, late := again.Wait(ctx); err != nil || late != nil {
			t.Fatalf("point %d: %v, %v", n, err, late)
		}
		turns, err := turnHosts(p.sessionDir(t))
		if err != nil || len(turns) != 2 {
			t.Fatalf("point %d: %d turns, %v", n, len(turns), err)
		}
		if turns[0] != oldHost {
			t.Errorf("point %d: the first turn ran under %+v", n, turns[0])
		}
		switch last := turns[1]; {
		case last == newHost:
			was["new"]++
		case last == oldHost && !acknowledged:
			was["old"]++
		default:
			t.Errorf("point %d (acknowledged: %t): the next turn ran under %+v", n, acknowledged, last)
		}
		if status == 0 {
			break
		}
	}
	if was["old"] < 2 || was["new"] < 3 {
		t.Errorf("the next turn had the old host %d times and the new one %d times", was["old"], was["new"])
	}
}

// The process is killed at every point of a deletion. The session is there as it was, or it is gone, and what is left of one
// that is gone is removed by whoever opens the next session.
//
// spec: D259
func TestKilledWhileASessionIsDeleted(t *testing.T) {
	binary := build(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	for _, c := range []struct {
		fault string
		gone  bool
	}{{"delete-prepared:1", false}, {"delete-aside:1", true}} {
		p := hostsPlace(t)
		agent := p.start(t, binary, c.fault, false, nil)
		_, err := agent.Initialize(ctx)
		id, err2 := agent.New(ctx, p.work)
		_, err3 := agent.Prompt(id, "before").Wait(ctx)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		if err := agent.Call(ctx, schema.MethodSessionDelete, schema.DeleteSessionRequest{SessionID: id}, nil); err == nil {
			t.Fatalf("%s: the deletion was acknowledged", c.fault)
		}
		if status, err := agent.Wait(ctx); err != nil || status != -1 {
			t.Fatalf("%s: ended with %d (%v)", c.fault, status, err)
		}
		if left, err := os.ReadDir(filepath.Join(p.data, "deleted")); err != nil || len(left) != 1 {
			t.Errorf("%s: set aside is %v (%v)", c.fault, left, err)
		}
		again := p.start(t, binary, "", false, nil)
		_, err = again.Initialize(ctx)
		all, err2 := again.List(ctx, "")
		loads := again.Load(ctx, id, p.work)
		if err := errors.Join(err, err2); err != nil || (len(all) == 0) != c.gone || (loads != nil) != c.gone {
			t.Errorf("%s: listed %d sessions, loading says %v (%v)", c.fault, len(all), loads, err)
		}
		other, err := again.New(ctx, p.work)
		if err == nil {
			_, err = again.Prompt(other, "next").Wait(ctx)
		}
		again.CloseInput()
		if _, late := again.Wait(ctx); err != nil || late != nil {
			t.Fatal(err, late)
		}
		if _, err := os.Stat(filepath.Join(p.data, "deleted")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the next session left what was set aside (%v)", c.fault, err)
		}
	}
}
