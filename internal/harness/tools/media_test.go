package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// picture is a small picture in the words of an encoder.
func picture(t *testing.T, encode func(*bytes.Buffer, image.Image) error, w, h int) string {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func pngOf(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }

// webp is the smallest picture of its kind.
func webp(t *testing.T) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// MED-1: each kind of medium arrives as content under a handle that its bytes decide, and is named in one line.
func TestReadMedia(t *testing.T) {
	k := newBench(t)
	for _, c := range []struct{ name, kind, shape, data string }{
		{"a.png", "image/png", "64x48, ", picture(t, pngOf, 64, 48)},
		{"a.jpg", "image/jpeg", "5x7, ", picture(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }, 5, 7)},
		{"a.gif", "image/gif", "300x2, ", picture(t, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }, 300, 2)},
		{"a.webp", "image/webp", "", webp(t)},
		{"a.pdf", "application/pdf", "", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n%%EOF\n"},
		{"named.txt", "image/png", "3x1, ", picture(t, pngOf, 3, 1)}, // bytes decide, no name does
		{"large.png", "image/png", "9x9, ", picture(t, pngOf, 9, 9) + strings.Repeat("\x00", 600<<10)},
	} {
		k.put(c.name, c.data)
		r := k.ok(k.do("read", m{"file_path": c.name}))
		sha := hashOf([]byte(c.data))
		want := Result{
			Text:     fmt.Appendf(nil, "media:%s %s, %s%s", sha[:8], c.kind, c.shape, size(int64(len(c.data)))),
			Media:    []Media{{Handle: "media:" + sha[:8], MediaType: c.kind, SHA256: sha, Size: int64(len(c.data))}},
			Observed: []Observed{{k.path(c.name), sha, int64(len(c.data))}},
		}
		r.DurationMS = 0
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if kept, err := k.blobs.Get(sha); err != nil || string(kept) != c.data {
			t.Errorf("%s: %d bytes kept (%v)", c.name, len(kept), err)
		}
	}
	k.put("b.png", picture(t, pngOf, 64, 48))
	if one, two := k.do("read", m{"file_path": "a.png"}), k.do("read", m{"file_path": "b.png"}); one.Media[0].Handle != two.Media[0].Handle {
		t.Error("equal content has two handles")
	}
	k.put("bm.txt", "BMW and others\n") // begins like a bitmap, and is text
	k.ok(k.do("read", m{"file_path": "bm.txt"}), "1\tBMW and others\n")
}

// MED-1: up to 10 MiB; one byte more is refused with the size and the limit, and nothing is kept.
func TestReadMediaLimit(t *testing.T) {
	k := newBench(t)
	head := picture(t, pngOf, 2, 2)
	grow := func(name string, n int64) {
		k.put(name, head)
		if err := os.Truncate(k.path(name), n); err != nil {
			t.Fatal(err)
		}
	}
	grow("full.png", 10<<20)
	if r := k.ok(k.do("read", m{"file_path": "full.png"}), "2x2, 10.0 MB"); r.Media[0].Size != 10<<20 {
		t.Errorf("%+v", r.Media)
	}
	clear(k.blobs.m)
	grow("over.png", 10<<20+1)
	k.fails(k.do("read", m{"file_path": "over.png"}), "over.png is image/png, 10.0 MB; a picture or PDF may have at most 10.0 MB")
	grow("huge.png", 300<<20)
	k.fails(k.do("read", m{"file_path": "huge.png"}), "huge.png is image/png, 300.0 MB; a picture or PDF may have at most 10.0 MB")
	if len(k.blobs.m) > 0 {
		t.Error("kept all the same")
	}
}

// fullBlobs is a store without room.
type fullBlobs struct{ memBlobs }

func (*fullBlobs) Put([]byte) (string, error) { return "", errors.New("disk full: make room") }

// A medium that can't be kept is an error in words, and names no content (LOG-12: no line refers to what is not there).
func TestReadMediaIsKeptFirst(t *testing.T) {
	for want, blobs := range map[string]Blobs{"a.png could not be kept: disk full: make room": new(fullBlobs), "there is no content store": nil} {
		k := newBench(t, func(c *Config) { c.Blobs = blobs })
		k.put("a.png", picture(t, pngOf, 1, 1))
		r := k.do("read", m{"file_path": "a.png"})
		k.fails(r, want)
		if r.Media != nil || r.Observed != nil {
			t.Errorf("%+v", r)
		}
	}
	k := newBench(t)
	k.put("a.png", picture(t, pngOf, 1, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := k.doCtx(ctx, "read", m{"file_path": "a.png"}); r.Interrupted != ByUser || len(k.blobs.m) > 0 {
		t.Errorf("%+v", r)
	}
}
