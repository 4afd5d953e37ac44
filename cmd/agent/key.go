package main

import (
	"context"

	"varve/internal/harness"
	"varve/internal/providers"
	"varve/internal/session"
	"varve/internal/setup"
)

// sign puts a provider's key and headers into an endpoint: for one request, since a
// command that prints the key may take its time, and ask a person (PRV-7).
func sign(ctx context.Context, set *setup.Setup, to *providers.Endpoint) error {
	key, err := set.ResolveKey(ctx, to.Provider)
	if err != nil {
		return err
	}
	headers, err := set.ResolveHeaders(ctx, to.Provider)
	if err != nil {
		return err
	}
	to.Key, to.Headers = string(key.Secret), map[string]string{}
	for k, v := range headers {
		to.Headers[k] = string(v)
	}
	return nil
}

// reach is resolve for who asks at once: the endpoint has its key.
func (m *machine) reach(ctx context.Context, model session.Model) (harness.Target, error) {
	t, err := m.resolve(ctx, model)
	if err == nil {
		t.Endpoint, err = t.Ready(ctx)
	}
	return t, err
}
