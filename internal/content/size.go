package content

import (
	"fmt"
	"os"
)

// Size is the length of a blob, by its name alone: nothing is read.
func (s *Store) Size(sha string) (int64, error) {
	path, err := s.path(sha)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("content %s: %w", sha, ErrMissing)
	}
	return info.Size(), nil
}
