package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"
)

// maxMedia is the largest picture or PDF that is taken, in bytes (MED-1).
const maxMedia = 10 << 20

// mediaType is the type of a picture or PDF by its first bytes, or "". Pictures of other kinds are binaries to us.
func mediaType(head []byte) string {
	switch t := http.DetectContentType(head); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return t
	}
	return ""
}

// handle names content in what people and models read: it is the same wherever that content comes in again.
func handle(sha string) string { return "media:" + sha[:8] }

// readMedia keeps a picture or PDF under its hash. The text names it in one line; whether the model is shown the
// content itself is for those to say who speak to it (MED-3).
func (p *prep) readMedia(ctx context.Context, f *os.File, at Path, first []byte, kind string, n int64) (Result, error) {
	if n > maxMedia {
		return Result{}, fmt.Errorf("%s is %s, %s; a picture or PDF may have at most %s", at.Name, kind, size(n), size(maxMedia))
	}
	rest, err := io.ReadAll(io.LimitReader(f, maxMedia+1-int64(len(first))))
	if ctx.Err() != nil {
		return interrupted("read " + at.Name), nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s %w", at.Name, unreadable(err))
	}
	data := append(bytes.Clone(first), rest...)
	if len(data) > maxMedia {
		return Result{}, fmt.Errorf("%s is %s and grows; a picture or PDF may have at most %s", at.Name, kind, size(maxMedia))
	}
	shape, err := dimensions(kind, data)
	if err != nil {
		return Result{}, fmt.Errorf("%s begins like %s, but it is damaged (%w), %s; it is not shown", at.Name, kind, err, size(int64(len(data))))
	}
	if p.Blobs == nil {
		return Result{}, errors.New("there is no content store, so that pictures and PDFs can't be kept")
	}
	sha, err := p.Blobs.Put(data)
	if err != nil {
		return Result{}, fmt.Errorf("%s could not be kept: %w", at.Name, err)
	}
	m := Media{Handle: handle(sha), MediaType: kind, SHA256: sha, Size: int64(len(data))}
	return Result{
		Text:     fmt.Appendf(nil, "%s %s, %s%s", m.Handle, kind, shape, size(m.Size)),
		Media:    []Media{m},
		Observed: []Observed{{at.Real, sha, m.Size}},
	}, nil
}

// dimensions is "640x480, " of a picture whose header the standard library reads, and "" of other media.
func dimensions(kind string, data []byte) (string, error) {
	decode := map[string]func(io.Reader) (image.Config, error){"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig}[kind]
	if decode == nil {
		return "", nil
	}
	c, err := decode(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%dx%d, ", c.Width, c.Height), nil
}
