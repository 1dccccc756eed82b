package acp

import (
	"context"

	"zuno/acp/schema"
	"zuno/acp/wire"
	"zuno/internal/engine"
)

// modelOption is the id of the option that chooses the model.
const modelOption = "model"

// options are a session's configuration options: the model that answers from the next turn on.
func options(chosen string, configured []string) []schema.SessionConfigOption {
	values := make([]schema.SessionConfigSelectOption, 0, len(configured))
	for _, m := range configured {
		values = append(values, schema.SessionConfigSelectOption{Value: schema.SessionConfigValueID(m), Name: m})
	}
	return []schema.SessionConfigOption{schema.SelectOption(modelOption, "Model", schema.CategoryModel, chosen, values...)}
}

// settingsOptions are the options of a panel that was never used.
func settingsOptions(set *engine.Settings) []schema.SessionConfigOption {
	return options(set.Policy.Model.String(), set.Models)
}

// sessionOptions are the options of an open session; none when it closes meanwhile.
func sessionOptions(s *engine.Session) []schema.SessionConfigOption {
	chosen, configured, err := s.Model()
	if err != nil {
		return nil
	}
	return options(chosen, configured)
}

func (s *Server) setOption(r *wire.Request) {
	var p schema.SetSessionConfigOptionRequest
	if err := r.Decode(&p); err != nil {
		_ = r.ReplyError(err)
		return
	}
	x := s.session(string(p.SessionID))
	value, ok := p.Text()
	switch {
	case x == nil:
		_ = r.ReplyError(rpcError(engine.ErrNotFound))
	case p.ConfigID != modelOption:
		_ = r.ReplyError(invalid("there is no option %q; the only one is %s", short(string(p.ConfigID)), modelOption))
	case !ok:
		_ = r.ReplyError(invalid("the value of option %s is a string", modelOption))
	default:
		x.post(r, func() { x.chooseModel(r, value) })
	}
}

// chooseModel makes a configured model answer from the next turn on.
func (x *session) chooseModel(req *wire.Request, value string) {
	x.mu.Lock()
	s := x.engine
	x.mu.Unlock()
	var set *engine.Settings
	var err error
	switch {
	case s != nil:
		command := "acp:model:" + x.server.ids.ULID("model:"+x.id).String()
		set, err = s.ChooseModel(context.Background(), command, value)
	case x.settings == nil:
		err = engine.ErrClosed
	default: // nothing is on disk yet; the first input takes the choice along
		if set, err = x.server.host.Configure(x.cwd, value); err == nil {
			x.settings = set
		}
	}
	if err != nil {
		_ = req.ReplyError(rpcError(err))
		return
	}
	_ = req.Reply(schema.SetSessionConfigOptionResponse{ConfigOptions: settingsOptions(set)})
}
