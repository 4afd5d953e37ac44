package tools

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const maxEntries = 1_000 // of one ls

// node is one entry of a tree.
type node struct {
	label string
	kids  []*node
	more  int  // kids that are not listed
	deep  bool // a folder below the asked depth
}

func prepareLs(_ context.Context, p *prep) (step, error) {
	depth := p.args.int("depth", 3)
	if depth < 1 {
		return nil, fmt.Errorf("depth is %d; it counts levels, from 1", depth)
	}
	ignore, _ := p.args["ignore"].([]string)
	for _, g := range ignore {
		if !doublestar.ValidatePattern(g) {
			return nil, fmt.Errorf("ignore pattern %q is not a valid glob", clip(g, 200))
		}
	}
	at, fi, err := p.folder(p.args.str("path"))
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; use read", at.Name)
	}
	return func(ctx context.Context, _ Progress) Result {
		t := tree{left: maxEntries, ignore: ignore}
		root, err := t.list(ctx, at.Real, depth)
		if err != nil {
			return p.searchFailed(ctx, err)
		}
		var b strings.Builder
		b.WriteString(p.name(at.Real) + "/\n")
		root.write(&b, "  ")
		var foot []string
		if root.kids == nil && root.more == 0 {
			foot = append(foot, "empty")
		}
		if t.out > 0 {
			foot = append(foot, fmt.Sprintf("%s left out (at most %s are listed); name a folder in path or use glob", plural(t.out, "entry", "entries"), count(maxEntries)))
		}
		if t.skipped > 0 {
			foot = append(foot, plural(t.skipped, "folder", "folders")+" could not be read")
		}
		r := Result{LeftOut: LeftOut{Lines: int64(t.out)}}
		p.headOnly(&r, b.String(), footer(foot))
		return r
	}, nil
}

// tree lists breadth first, so that a crowded folder never hides its neighbours.
type tree struct {
	left    int // entries that may still be listed
	out     int // entries seen and not listed
	skipped int // folders that could not be read
	ignore  []string
}

func (t *tree) list(ctx context.Context, root string, depth int) (*node, error) {
	type todo struct {
		*node
		abs, rel string
		comps    []string
		rules    []rule
		level    int
	}
	rules, comps := above(root)
	first := &node{}
	queue := []todo{{first, root, "", comps, rules, 1}}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		entries, err := os.ReadDir(d.abs)
		if err != nil && len(entries) == 0 {
			if d.level == 1 {
				return nil, cause(err)
			}
			t.skipped++
			continue
		}
		rules := inside(d.rules, d.abs, entries, len(d.comps))
		for _, e := range entries {
			rel := path.Join(d.rel, e.Name())
			if t.ignored(rel, e.Name()) {
				continue
			}
			if t.left == 0 {
				d.more++
				t.out++
				continue
			}
			t.left--
			n := &node{label: visibleName(e.Name())}
			d.kids = append(d.kids, n)
			abs := filepath.Join(d.abs, e.Name())
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				to, _ := os.Readlink(abs)
				n.label += " -> " + visibleName(to)
			case e.IsDir():
				n.label += "/"
				at := append(d.comps[:len(d.comps):len(d.comps)], e.Name())
				switch {
				case e.Name() == ".git":
					n.label += " (not entered)"
				case excluded(rules, at, true):
					n.label += " (ignored)"
				case d.level < depth:
					queue = append(queue, todo{n, abs, rel, at, rules, d.level + 1})
				default:
					n.deep = true
				}
			}
		}
	}
	return first, nil
}

func (t *tree) ignored(rel, name string) bool {
	for _, g := range t.ignore {
		g = strings.TrimSuffix(g, "/")
		if ok, _ := doublestar.Match(g, rel); ok {
			return true
		}
		if ok, _ := doublestar.Match(g, name); ok {
			return true
		}
	}
	return false
}

func (n *node) write(b *strings.Builder, indent string) {
	for _, k := range n.kids {
		b.WriteString(indent + k.label)
		if k.deep {
			b.WriteString(" …")
		}
		b.WriteByte('\n')
		k.write(b, indent+"  ")
	}
	if n.more > 0 {
		fmt.Fprintf(b, "%s[%s more]\n", indent, count(n.more))
	}
}
