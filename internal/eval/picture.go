package eval

import (
	"fmt"
	"html"
	"strings"
)

// Colours of bars, by who was asked.
const (
	traceColour      = "#b8bec6"
	agentColour      = "#2f6fb2"
	summarizerColour = "#d9822b"
)

// Picture draws the context of each path over its requests, as SVG: a bar for
// each prompt, in the order in which they were made; a hollow one came to
// nothing. The line is the agent's trigger.
func (r Report) Picture() string {
	const (
		left, top, width, height, gap = 60, 56, 840, 70, 34
		most                          = agentWindow
	)
	bars := 1
	for _, row := range r.Rows {
		bars = max(bars, len(row.Bars))
	}
	step := width / bars
	total := top + len(r.Rows)*(height+gap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#333">`+"\n", left+width+20, total)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", left+width+20, total)
	text := func(x, y int, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
	}
	text(left, 16, "start", "Size of each prompt, in tokens, request by request (scripted replies: transport, not recall)")
	x := left
	for _, l := range []struct{ name, colour string }{
		{"the trace", traceColour}, {"the agent", agentColour}, {"a summarizer (hollow: nothing came of it)", summarizerColour},
	} {
		fmt.Fprintf(&b, `<rect x="%d" y="26" width="10" height="10" fill="%s"/>`+"\n", x, l.colour)
		text(x+15, 35, "start", l.name)
		x += 110
	}
	for i, row := range r.Rows {
		base := top + i*(height+gap) + gap/2 + height
		text(left, base-height-4, "start", fmt.Sprintf("%s: %d requests, peak %d, last %d", row.Path, row.Requests, row.Peak, row.Last))
		text(left-6, base, "end", "0")
		text(left-6, base-height+8, "end", fmt.Sprint(most))
		for k, bar := range row.Bars {
			colour := summarizerColour
			switch bar.Purpose {
			case "trace":
				colour = traceColour
			case "agent":
				colour = agentColour
			}
			fill := colour
			if bar.Lost {
				fill = "none"
			}
			h := max(bar.Tokens*height/most, 1)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="%s"/>`+"\n", left+k*step+1, base-h, step-3, h, fill, colour)
		}
		trigger := base - agentWindow/5*4*height/most
		fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#c33" stroke-dasharray="4 3"/>`+"\n", left, trigger, left+width)
		fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#333"/>`+"\n", left, base, left+width)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
