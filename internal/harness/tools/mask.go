package tools

import (
	"context"
	"fmt"
)

// MaskName is the one tool that changes what is in view.
const MaskName = "mask_tool_result"

// prepareMask replaces the newest result in the view, which is the session's to do: here it is only asked for.
func prepareMask(_ context.Context, p *prep) (step, error) {
	m, err := p.known.Tail(p.call.ID)
	if err != nil {
		return nil, err
	}
	return func(context.Context, Progress) Result {
		r := Result{Mask: &m}
		p.headOnly(&r, fmt.Sprintf("Masked: item %s, the result of %s.", m.Item, m.Tool), "")
		return r
	}, nil
}

// Reference is what stands in the place of a masked result.
func (m Masked) Reference() string {
	return fmt.Sprintf("[masked: item %s, the result of call %s of %s, about %d tokens. The payload is kept, and not shown.]", m.Item, m.Call, m.Tool, m.Tokens)
}
