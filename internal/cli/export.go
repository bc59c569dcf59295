package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/internal/export"
	"varve.dev/internal/vfs"
)

// exportCmd is `varve sessions export`.
type exportCmd struct {
	ID       string `arg:"" help:"Id, the beginning of one, title, or file."`
	Format   string `short:"f" placeholder:"NAME" help:"markdown, html or json. Without it: what the name of the output says, else markdown."`
	Output   string `short:"o" placeholder:"FILE" type:"path" help:"Write to this file instead of standard output."`
	Force    bool   `help:"Replace the output file if there is one."`
	Images   bool   `help:"Put images into the document."`
	NoRedact bool   `help:"Leave secrets in."`
}

// exporters are the formats by name.
var exporters = map[string]func(io.Writer, *export.Session, export.Options) (export.Report, error){
	"markdown": export.Markdown,
	"html":     export.HTML,
	"json":     export.JSON,
}

// Run exports one session.
func (c *exportCmd) Run(ctx context.Context, a *app, g *grammar) error {
	format, err := c.format(g.Sessions.JSON)
	if err != nil {
		return err
	}
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return err
	}
	if c.Output != "" && !c.Force {
		if _, err := os.Lstat(c.Output); err == nil {
			return fmt.Errorf("%s exists; --force replaces it", c.Output)
		}
	}
	doc, err := export.Open(ctx, s.Path)
	if err != nil {
		return err
	}
	defer doc.Close()
	opt := export.Options{Secrets: c.NoRedact, EmbedImages: c.Images}
	var report export.Report
	if c.Output == "" {
		err = a.out.document(func(w io.Writer) (err error) {
			report, err = exporters[format](w, doc, opt)
			return err
		})
	} else {
		var buf bytes.Buffer
		if report, err = exporters[format](&buf, doc, opt); err == nil {
			err = writeDocument(c.Output, buf.Bytes(), c.Force)
		}
	}
	if err != nil {
		return err
	}
	c.tell(a, doc, report)
	return ctx.Err()
}

// format decides what is written. --json means the format here, as it does for
// the other commands.
func (c *exportCmd) format(json bool) (string, error) {
	if json {
		if c.Format != "" && c.Format != "json" {
			return "", &usageError{fmt.Errorf("--json and --format %s contradict each other", c.Format)}
		}
		return "json", nil
	}
	if c.Format != "" {
		if exporters[c.Format] == nil {
			return "", &usageError{fmt.Errorf("--format takes markdown, html or json, not %s", c.Format)}
		}
		return c.Format, nil
	}
	switch strings.ToLower(filepath.Ext(c.Output)) {
	case ".html", ".htm":
		return "html", nil
	case ".json":
		return "json", nil
	}
	return "markdown", nil
}

// writeDocument writes the file as a whole or not at all. The file is private: a
// session holds what tools printed.
func writeDocument(name string, data []byte, replace bool) error {
	if replace {
		err := vfs.WriteFile(vfs.OS, name, data, 0o600)
		if errors.Is(err, vfs.ErrNotDurable) {
			return nil // it is there; nobody relies on it after a power loss
		}
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; --force replaces it", name)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// tell says on standard error what the document does not show by itself.
func (c *exportCmd) tell(a *app, doc *export.Session, report export.Report) {
	if n := len(report.Redactions); n > 0 {
		rules := make(map[string]int)
		for _, r := range report.Redactions {
			rules[r.Rule]++
		}
		var names []string
		for rule, n := range rules {
			names = append(names, fmt.Sprintf("%s %d", rule, n))
		}
		slices.Sort(names)
		a.out.note("%s replaced (%s); not every secret can be found, so read the document before you share it.",
			count(n, "secret"), strings.Join(names, ", "))
	} else if !c.NoRedact {
		a.out.note("No secrets were found; not every secret can be, so read the document before you share it.")
	}
	if n := harmful(doc.Faults); n > 0 {
		a.out.note("The log is damaged in %s; what could be read was exported.", count(n, "place"))
	}
	if c.Output != "" {
		a.out.note("Wrote %s.", c.Output)
	}
}
