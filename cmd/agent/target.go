package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"varve/internal/harness"
	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
)

// How a model is reached.

// resolve finds a model's endpoint and how large it is. Its key is looked for when
// something is sent: to find it may run a command.
func (m *machine) resolve(ctx context.Context, model session.Model) (harness.Target, error) {
	return m.resolveBy(ctx, m.settings(), model)
}

// endpoint is a model's, with its key, to ask it something now.
func (m *machine) endpoint(ctx context.Context, model session.Model) (providers.Endpoint, error) {
	t, err := m.resolve(ctx, model)
	if err != nil {
		return providers.Endpoint{}, err
	}
	return t.Keyed(ctx)
}

func (m *machine) resolveBy(ctx context.Context, set *setup.Setup, model session.Model) (harness.Target, error) {
	_, playing := m.demo[model.Provider]
	switch {
	case model == (session.Model{}):
		return harness.Target{}, exit(exitUsage, "no model is chosen: choose one with Alt+P, --model provider/model or `agent config set model.provider …`; `agent demo` needs none")
	case !playing && player(model.String()) != "":
		return harness.Target{}, exit(exitUsage, "%s", m.whose(model.String()))
	case model.API == "" && !playing: // a provider that nobody knew when the model was named
		return harness.Target{}, noProvider(model, set)
	case model.API != openaichat.API:
		return harness.Target{}, fmt.Errorf("%s speaks %s, which this version does not: choose a model of kind %s", model, model.API, openaichat.API)
	}
	t := harness.Target{Adapter: openaichat.Adapter{}, Window: session.Capacity{Source: "none"}}
	if ep, ok := m.demo[model.Provider]; ok {
		t.Endpoint = ep
		t.Window = session.Capacity{N: ep.Window, Source: "setting"}
		return t, nil
	}
	p, ok := set.Provider(model.Provider)
	if !ok {
		return t, noProvider(model, set)
	}
	if err := set.CheckKey(model.Provider); err != nil {
		return t, err
	}
	client, err := m.client()
	if err != nil {
		return t, err
	}
	t.Endpoint = providers.Endpoint{
		Client: client, Provider: model.Provider, BaseURL: p.BaseURL, StallTimeout: p.StallTimeout,
	}
	t.Endpoint.Profile = openaichat.ProfileFor(model.Provider, p.BaseURL).Name
	t.Keys = keysFrom(set)
	limits := set.Limits(setup.ModelRef{Provider: model.Provider, Model: model.Model})
	if known, ok := published(model, p.BaseURL); ok && known.Window > 0 {
		t.Window = session.Capacity{N: known.Window, Source: "catalogue"}
	}
	if limits.ContextWindow == nil && p.Local() {
		if n := m.windows.reported(ctx, t, model.Model); n > 0 {
			t.Window = session.Capacity{N: n, Source: "reported"}
		}
	}
	if limits.ContextWindow != nil {
		t.Window = session.Capacity{N: *limits.ContextWindow, Source: "setting"}
		t.Endpoint.Window = *limits.ContextWindow
	}
	if limits.MaxOutputTokens != nil {
		t.OutputLimit = *limits.MaxOutputTokens
	}
	return t, nil
}

// keysFrom puts a provider's key and headers into its endpoint.
func keysFrom(set *setup.Setup) func(context.Context, providers.Endpoint) (providers.Endpoint, error) {
	return func(ctx context.Context, to providers.Endpoint) (providers.Endpoint, error) {
		key, err := set.ResolveKey(ctx, to.Provider)
		if err != nil {
			return to, err
		}
		headers, err := set.ResolveHeaders(ctx, to.Provider)
		if err != nil {
			return to, err
		}
		to.Key, to.Headers = string(key.Secret), make(map[string]string, len(headers))
		for k, v := range headers {
			to.Headers[k] = string(v)
		}
		return to, nil
	}
}

// client speaks to providers, nil for the shared one. A private CA's file is
// looked for in the settings' folder.
func (m *machine) client() (*http.Client, error) {
	file := m.settings().Network.CAFile
	if file == "" {
		return nil, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(m.folders.Setup()), file)
	}
	c, err := providers.Trusting(file)
	if err != nil {
		return nil, fmt.Errorf("network.ca_file: %w", err)
	}
	return c, nil
}
