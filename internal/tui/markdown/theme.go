package markdown

// A Theme gives the SGR sequence (such as "\x1b[1;34m") that each role is drawn with. An empty string draws the role as
// plain text; emphasis and inline code that would then look like any text keep their Markdown marks. The themes
// here use the sixteen colours that every terminal has and that its user chose (TUI-9).
type Theme struct {
	Text, Heading, Strong, Emph, Strike, Code, Link, URL, Quote, Dim, Accent string
	Keyword, Type, Func, String, Number, Comment                             string
	Added, Removed, Hunk                                                     string
}

// Dark is for a dark background.
func Dark() Theme {
	t := Mono()
	t.Heading, t.Code, t.Link, t.URL, t.Accent = "\x1b[1;96m", "\x1b[93m", "\x1b[4;94m", "\x1b[90m", "\x1b[96m"
	t.Quote, t.Dim, t.Comment = "\x1b[37m", "\x1b[90m", "\x1b[90m"
	t.Keyword, t.Type, t.Func, t.String, t.Number = "\x1b[95m", "\x1b[96m", "\x1b[94m", "\x1b[92m", "\x1b[93m"
	t.Added, t.Removed, t.Hunk = "\x1b[92m", "\x1b[91m", "\x1b[96m"
	return t
}

// Light is for a light background.
func Light() Theme {
	t := Mono()
	t.Heading, t.Code, t.Link, t.URL, t.Accent = "\x1b[1;34m", "\x1b[31m", "\x1b[4;34m", "\x1b[90m", "\x1b[34m"
	t.Quote, t.Dim, t.Comment = "\x1b[90m", "\x1b[90m", "\x1b[90m"
	t.Keyword, t.Type, t.Func, t.String, t.Number = "\x1b[35m", "\x1b[36m", "\x1b[34m", "\x1b[32m", "\x1b[31m"
	t.Added, t.Removed, t.Hunk = "\x1b[32m", "\x1b[31m", "\x1b[36m"
	return t
}

// Mono uses no colour, only bold, italic, underline and faint: for NO_COLOR.
func Mono() Theme {
	return Theme{
		Heading: "\x1b[1m", Strong: "\x1b[1m", Emph: "\x1b[3m", Strike: "\x1b[9m", Link: "\x1b[4m",
		URL: "\x1b[2m", Dim: "\x1b[2m", Comment: "\x1b[2m", Keyword: "\x1b[1m", Hunk: "\x1b[2m",
	}
}

// A role is the part that a stretch of code plays.
type role uint8

const (
	roleText role = iota
	roleKeyword
	roleType
	roleFunc
	roleString
	roleNumber
	roleComment
	roleAdded
	roleRemoved
	roleHunk
	roleHeading
)

// style is the sequence of a role.
func (t *Theme) style(r role) string {
	switch r {
	case roleKeyword:
		return t.Keyword
	case roleType:
		return t.Type
	case roleFunc:
		return t.Func
	case roleString:
		return t.String
	case roleNumber:
		return t.Number
	case roleComment:
		return t.Comment
	case roleAdded:
		return t.Added
	case roleRemoved:
		return t.Removed
	case roleHunk:
		return t.Hunk
	case roleHeading:
		return t.Heading
	}
	return t.Text
}
