package openaichat

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
)

// Who says how large a window is, from the surest on (wire.md §4.1).
const (
	SourceRunning  = "running"  // what the loaded model runs with
	SourceServed   = "served"   // what the server was started with
	SourceDeclared = "declared" // what the provider's list says
	SourceTrained  = "trained"  // what the model could; an upper bound only
)

// discoveryTimeout is for one question; a turn never waits for longer.
const discoveryTimeout = 3 * time.Second

// ModelInfo is what an endpoint says about a model. Zero is unknown.
type ModelInfo struct {
	ID           string
	Window       int // tokens
	WindowSource string
	From         string // the path that told the window
	MaxOutput    int    // tokens
}

// Models lists what GET /models of an endpoint tells.
func Models(ctx context.Context, to providers.Endpoint) ([]ModelInfo, error) {
	u, e := to.URL("/models")
	if e != nil {
		return nil, e
	}
	body, e := providers.Get(ctx, to, u, authOf(to), discoveryTimeout)
	if e != nil {
		return nil, e
	}
	if !gjson.ValidBytes(body) {
		return nil, fmt.Errorf("models of %s: the answer is no JSON", to.Provider)
	}
	v := gjson.ParseBytes(body)
	list := v.Get("data")
	if v.IsArray() {
		list = v
	} else if !list.IsArray() {
		list = v.Get("models")
	}
	if !list.IsArray() {
		return nil, fmt.Errorf("models of %s: the answer is no list", to.Provider)
	}
	var out []ModelInfo
	for _, m := range list.Array() {
		if info := infoOf(m); info.ID != "" {
			out = append(out, info)
		}
	}
	return out, nil
}

func infoOf(m gjson.Result) ModelInfo {
	info := ModelInfo{ID: m.Get("id").String()}
	if info.ID == "" {
		info.ID = m.Get("name").String()
	}
	set := func(source string, paths ...string) {
		if n := first(m, paths...); info.Window == 0 && n > 0 {
			info.Window, info.WindowSource = n, source
		}
	}
	set(SourceRunning, "loaded_context_length", "meta.n_ctx")
	set(SourceServed, "max_model_len")
	// A router's own figure is the most that any of its hosts takes.
	set(SourceDeclared, "top_provider.context_length", "context_length", "max_input_tokens", "context_window",
		"model_info.max_input_tokens", "capabilities.limits.max_prompt_tokens", "capabilities.limits.max_context_window_tokens")
	set(SourceTrained, "meta.n_ctx_train")
	if m.Get("state").Exists() {
		set(SourceTrained, "max_context_length") // LM Studio: what the model could
	}
	set(SourceDeclared, "max_context_length")
	info.MaxOutput = first(m, "top_provider.max_completion_tokens", "max_completion_tokens", "max_output_tokens", "max_tokens",
		"capabilities.limits.max_output_tokens")
	return info
}

// Window asks an endpoint how much a model takes, in the way its kind of
// server tells it. Where nothing is told the window is 0, and the error says
// why; a turn goes on without.
func Window(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	var found ModelInfo
	var problem error
	try := func(path string, ask func(context.Context, providers.Endpoint, string) (ModelInfo, error)) bool {
		if found.Window > 0 && found.WindowSource != SourceTrained {
			return true
		}
		info, err := ask(ctx, to, model)
		if err != nil && problem == nil {
			problem = err
		}
		if info.Window > 0 && (found.Window == 0 || info.WindowSource != SourceTrained) {
			info.From = path
			info.MaxOutput = max(info.MaxOutput, found.MaxOutput)
			found = info
		}
		return found.Window > 0 && found.WindowSource != SourceTrained
	}
	switch profileOf(to).Local {
	case "props":
		try("/props", props)
		try("/v1/models", listed)
	case "ollama":
		try("/api/ps", running)
		try("/api/show", shown)
	case "lmstudio":
		try("/api/v1/models", instances)
		try("/api/v0/models", studio)
	default:
		if try("/v1/models", listed); found.Window == 0 && self(to) {
			_ = try("/props", props) || try("/api/ps", running) || try("/api/show", shown) || try("/api/v1/models", instances) || try("/api/v0/models", studio)
		}
	}
	found.ID = model
	if found.Window > 0 {
		return found, nil
	}
	return found, problem
}

// listed looks a model up in the endpoint's list.
func listed(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	all, err := Models(ctx, to)
	if err != nil {
		return ModelInfo{}, err
	}
	for _, m := range all {
		if m.ID == model {
			return m, nil
		}
	}
	if len(all) == 1 && profileOf(to).Local == "props" {
		return all[0], nil // a server of one model takes any name
	}
	return ModelInfo{}, nil
}

// props asks llama.cpp: n_ctx is what one slot takes.
func props(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	v, err := ask(ctx, to, "/props?model="+url.QueryEscape(model), nil)
	return ModelInfo{Window: first(v, "default_generation_settings.n_ctx", "n_ctx"), WindowSource: SourceRunning}, err
}

// running asks Ollama what is loaded; before the first reply it is nothing.
func running(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	v, err := ask(ctx, to, "/api/ps", nil)
	for _, m := range v.Get("models").Array() {
		if named(m.Get("name").String(), model) || named(m.Get("model").String(), model) {
			return ModelInfo{Window: first(m, "context_length"), WindowSource: SourceRunning}, nil
		}
	}
	return ModelInfo{}, err
}

func named(a, b string) bool {
	return strings.TrimSuffix(a, ":latest") == strings.TrimSuffix(b, ":latest")
}

// shown asks Ollama about a model on disk.
func shown(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	v, err := ask(ctx, to, "/api/show", []byte(`{"model":`+quoted(model)+`}`))
	info := ModelInfo{WindowSource: SourceTrained}
	v.Get("model_info").ForEach(func(k, n gjson.Result) bool {
		if strings.HasSuffix(k.Str, ".context_length") {
			info.Window = int(n.Int())
		}
		return info.Window == 0
	})
	return info, err
}

// instances asks LM Studio since 0.4; the smallest loaded one counts.
func instances(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	v, err := ask(ctx, to, "/api/v1/models", nil)
	for _, m := range v.Get("models").Array() {
		if m.Get("key").String() != model && m.Get("id").String() != model && m.Get("name").String() != model {
			continue
		}
		info := ModelInfo{WindowSource: SourceRunning}
		for _, in := range m.Get("loaded_instances").Array() {
			if n := first(in, "config.context_length"); n > 0 && (info.Window == 0 || n < info.Window) {
				info.Window = n
			}
		}
		if info.Window == 0 {
			info = ModelInfo{Window: first(m, "max_context_length"), WindowSource: SourceTrained}
		}
		return info, nil
	}
	return ModelInfo{}, err
}

// studio asks LM Studio before 0.4.
func studio(ctx context.Context, to providers.Endpoint, model string) (ModelInfo, error) {
	v, err := ask(ctx, to, "/api/v0/models/"+url.PathEscape(model), nil)
	if err != nil {
		return ModelInfo{}, err
	}
	if n := first(v, "loaded_context_length"); n > 0 {
		return ModelInfo{Window: n, WindowSource: SourceRunning}, nil
	}
	return ModelInfo{Window: first(v, "max_context_length"), WindowSource: SourceTrained}, nil
}

// ask sends a question to the server's root, beside the API's own path.
func ask(ctx context.Context, to providers.Endpoint, path string, body []byte) (gjson.Result, error) {
	u, err := url.Parse(strings.TrimSpace(to.BaseURL))
	if err != nil || u.Host == "" {
		return gjson.Result{}, fmt.Errorf("base URL of %s: want http:// or https:// and a host", to.Provider)
	}
	root := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	at := u.Scheme + "://" + u.Host + root + path
	var got []byte
	var e *providers.Error
	if body != nil {
		got, e = providers.Query(ctx, to, at, authOf(to), body, discoveryTimeout)
	} else {
		got, e = providers.Get(ctx, to, at, authOf(to), discoveryTimeout)
	}
	switch {
	case e != nil:
		return gjson.Result{}, e
	case !gjson.ValidBytes(got):
		return gjson.Result{}, fmt.Errorf("%s: the answer is no JSON", path)
	}
	return gjson.ParseBytes(got), nil
}

// self reports whether the endpoint is on this machine or a private network,
// where asking for a server's own pages does no harm.
func self(to providers.Endpoint) bool {
	u, err := url.Parse(strings.TrimSpace(to.BaseURL))
	return err == nil && providers.Private(u.Hostname())
}
