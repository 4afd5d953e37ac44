package openaichat

import (
	"strings"

	"github.com/tidwall/gjson"
)

// A call is a tool call as far as it has arrived.
type call struct {
	id, name string
	args     text
	object   bool // the arguments came as JSON, not as a string of JSON
}

// whole reports whether the arguments are one complete JSON value.
func (c *call) whole() bool { return len(c.args.buf) > 0 && gjson.ValidBytes(c.args.buf) }

// calls puts tool calls together from fragments (STR-05, STR-07; wire.md §5).
// Which call a fragment belongs to is decided, in this order, by an id that
// was seen, a new id, the index, the place in its list, and last the call that
// is open. A missing index is not index 0.
type calls struct {
	list   []*call
	byID   map[string]*call
	byIdx  map[int64]*call
	last   *call
	broken bool // the server uses one index for several calls
}

// add takes the tool_calls of one delta and returns, for each fragment, its
// call and what became readable of its arguments.
func (c *calls) add(list []gjson.Result, each func(*call, []byte)) {
	for at, f := range list {
		id := strings.TrimSpace(f.Get("id").String())
		if id == "null" {
			id = ""
		}
		fn := f.Get("function")
		if !fn.Exists() {
			fn = f
		}
		name := fn.Get("name").String()
		args := fn.Get("arguments")
		k := c.find(f.Get("index"), id, name, at, len(list))
		k.setName(name)
		each(k, k.addArgs(args))
	}
}

// legacy takes a delta of the old field function_call.
func (c *calls) legacy(f gjson.Result, each func(*call, []byte)) {
	k := c.last
	if k == nil {
		k = c.open("")
	}
	k.setName(f.Get("name").String())
	each(k, k.addArgs(f.Get("arguments")))
}

// whole reports whether no call was left in the middle.
func (c *calls) whole() bool {
	for _, k := range c.list {
		if !k.whole() {
			return false
		}
	}
	return true
}

func (c *calls) open(id string) *call {
	k := &call{id: id}
	c.list = append(c.list, k)
	c.last = k
	if id != "" {
		c.name(k, id)
	}
	return k
}

func (c *calls) name(k *call, id string) {
	if c.byID == nil {
		c.byID = map[string]*call{}
	}
	k.id = id
	c.byID[id] = k
}

func (c *calls) find(index gjson.Result, id, name string, at, of int) *call {
	numbered := index.Type == gjson.Number
	var k *call
	if numbered {
		k = c.byIdx[index.Int()]
	}
	switch known := c.byID[id]; {
	case id != "" && known != nil:
		k = known
	case id != "":
		switch {
		case k != nil && k.id == "" && (k.name == "" || name == "" || k.name == name && !k.whole()):
			c.name(k, id) // its arguments came first
		case k == nil && !numbered && c.last != nil && c.last.id == "" && c.last.name == "":
			k = c.last
			c.name(k, id)
		default:
			c.broken = c.broken || k != nil
			k = c.open(id)
		}
	case k != nil:
		// No id on a known index: another call only if this one is complete
		// and a name begins anew.
		if name != "" && k.whole() && k.id == "" {
			c.broken = true
			k = c.open("")
		}
	case numbered:
		if name == "" && c.broken && c.last != nil {
			k = c.last // the index changed in the middle of a call
		} else {
			k = c.open("")
		}
	case name == "" && of > 1 && at < len(c.list):
		k = c.list[len(c.list)-min(of, len(c.list))+at]
	case c.last != nil && (name == "" || c.last.name == "" || c.last.name == name && !c.last.whole() && len(c.last.args.buf) > 0):
		k = c.last
	default:
		k = c.open("")
	}
	if numbered {
		if c.byIdx == nil {
			c.byIdx = map[int64]*call{}
		}
		c.byIdx[index.Int()] = k
	}
	c.last = k
	return k
}

// setName takes a name, a piece of one, or one that was said before.
func (k *call) setName(name string) {
	switch {
	case name == "" || name == k.name:
	case strings.HasPrefix(name, k.name):
		k.name = name
	case len(k.args.buf) == 0 && !k.object:
		k.name += name
	}
}

func (k *call) addArgs(args gjson.Result) []byte {
	switch args.Type {
	case gjson.String:
		if k.object {
			return nil
		}
		return k.args.add(args.Raw)
	case gjson.JSON:
		k.object = true
		k.args = text{buf: []byte(args.Raw)}
		return k.args.buf
	}
	return nil
}
