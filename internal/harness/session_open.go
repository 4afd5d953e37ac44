package harness

import (
	"context"

	"varve/internal/content"
	"varve/internal/jsonl"
)

// OpenWhile is Open for a look at a file that may take long to read: it gives up
// when ctx is done.
func OpenWhile(ctx context.Context, path string, blobs *content.Store, policy jsonl.Policy, clock Clock) (*Session, error) {
	return openWhile(ctx, nil, path, blobs, policy, clock)
}

func openOn(layer jsonl.Layer, path string, blobs *content.Store, policy jsonl.Policy, clock Clock) (*Session, error) {
	return openWhile(context.Background(), layer, path, blobs, policy, clock)
}

func openWhile(ctx context.Context, layer jsonl.Layer, path string, blobs *content.Store, policy jsonl.Policy, clock Clock) (*Session, error) {
	s := newOn(layer, path, blobs, policy, clock)
	f, err := jsonl.Open(path, s.opts)
	if err != nil {
		return nil, err
	}
	s.file = f
	if err := s.catchUp(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}
