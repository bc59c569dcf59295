package tokenfit

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// generators make one text of about n bytes each. Their order and names are part of the fit's record.
var generators = []struct {
	kind string
	make func(r *rng, n int) string
}{
	{"json-dense", jsonDense}, {"json-pretty", jsonPretty}, {"jsonl", jsonLines}, {"server-log", serverLog}, {"ls", listing},
	{"git-log", gitLog}, {"go-sum", goSum}, {"hex", hexSums}, {"hexdump", hexDump}, {"base64", base64Text}, {"ids", identifiers},
	{"csv", csv}, {"yaml", yaml}, {"sql", sql}, {"typescript", typescript}, {"python", python}, {"stack", stackTrace},
	{"grep", grepOutput}, {"build", buildOutput}, {"xml", xml}, {"chat", chat}, {"tables", tables}, {"emoji", emoji},
	{"chinese", chineseText}, {"japanese", japaneseText}, {"korean", koreanText}, {"russian", spaced(russian)},
	{"european", europeanText}, {"greek", spaced(greek)}, {"arabic", spaced(arabic)}, {"hebrew", spaced(hebrew)},
	{"hindi", spaced(hindi)}, {"thai", thaiText}, {"cjk-code", cjkCode},
}

func fill(n int, piece func(b *strings.Builder)) string {
	var b strings.Builder
	for b.Len() < n {
		piece(&b)
	}
	return b.String()
}

func (r *rng) word() string { return english[r.n(len(english))] }

func (r *rng) title() string {
	w := r.word()
	return strings.ToUpper(w[:1]) + w[1:]
}

func (r *rng) camel() string {
	s := r.word()
	for range r.n(3) {
		s += r.title()
	}
	return s
}

func (r *rng) snake() string {
	s := r.word()
	for range r.n(3) {
		s += "_" + r.word()
	}
	return s
}

func (r *rng) path(ext string) string {
	s := r.one("src", "internal", "pkg", "lib", "app", "cmd", "packages/core", "test")
	for range r.n(3) {
		s += "/" + r.word()
	}
	return s + "/" + r.one(r.snake(), r.camel(), r.word()+"-"+r.word()) + ext
}

func (r *rng) sentence() string {
	n := r.between(6, 18)
	words := make([]string, 0, n)
	for range n {
		switch {
		case r.chance(45):
			words = append(words, englishSmall[r.n(len(englishSmall))])
		case r.chance(12):
			words = append(words, "`"+r.camel()+"`")
		default:
			words = append(words, r.word())
		}
	}
	s := strings.Join(words, " ")
	return strings.ToUpper(s[:1]) + s[1:] + r.one(".", ".", ".", "!", "?", ":")
}

func (r *rng) hex(n int) string { return hex.EncodeToString(r.bytes((n + 1) / 2))[:n] }

func (r *rng) uuid() string {
	h := r.hex(32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (r *rng) stamp() string {
	return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02d.%03dZ", r.between(20, 27), r.between(1, 12), r.between(1, 28), r.n(24), r.n(60), r.n(60), r.n(1000))
}

// value returns a random JSON value, nested at most depth deep.
func (r *rng) value(depth int) any {
	switch k := r.n(12); {
	case k < 2:
		return r.word()
	case k == 2:
		return r.sentence()
	case k == 3:
		return r.n(100)
	case k == 4:
		return r.n(10_000_000)
	case k == 5:
		return float64(r.n(1_000_000)) / 1000
	case k == 6:
		return r.chance(50)
	case k == 7:
		return r.one(r.uuid(), r.hex(40), r.stamp(), "https://"+r.word()+".example.com/"+r.word()+"/"+r.word())
	case k == 8:
		return nil
	case depth == 0:
		return r.camel()
	case k == 9:
		list := make([]any, r.n(6))
		for i := range list {
			list[i] = r.value(depth - 1)
		}
		return list
	}
	return r.object(depth - 1)
}

func (r *rng) object(depth int) map[string]any {
	m := map[string]any{}
	for range r.between(2, 8) {
		m[r.one(r.camel(), r.snake(), r.word(), "id", "name", "type", "url")] = r.value(depth)
	}
	return m
}

func marshal(v any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if e.Encode(v) != nil {
		return ""
	}
	return b.String()
}

func jsonDense(r *rng, n int) string {
	list := []any{}
	for size := 0; size < n; {
		o := r.object(2)
		size += len(marshal(o, ""))
		list = append(list, o)
	}
	return marshal(list, "")
}

func jsonPretty(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) { b.WriteString(marshal(r.object(3), r.one("  ", "    ", "\t"))) })
}

func jsonLines(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		b.WriteString(marshal(map[string]any{"level": r.one("info", "warn", "error", "debug"), "ts": r.stamp(), "msg": r.sentence(),
			"caller": r.path(".go") + fmt.Sprintf(":%d", r.n(900)), r.snake(): r.value(0), "trace_id": r.hex(32), "status": r.between(200, 504)}, ""))
	})
}

func serverLog(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		switch r.n(3) {
		case 0:
			fmt.Fprintf(b, "%d.%d.%d.%d - - [%02d/Nov/2026:%02d:%02d:%02d +0000] \"%s /%s/%s/%d HTTP/1.1\" %d %d \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n",
				r.n(256), r.n(256), r.n(256), r.n(256), r.between(1, 28), r.n(24), r.n(60), r.n(60), r.one("GET", "POST", "PUT"), r.word(), r.word(), r.n(100000), r.between(200, 504), r.n(90000))
		case 1:
			fmt.Fprintf(b, "%s %s [%s] %s: %s %s=%d %s=%dms\n", r.stamp(), r.one("INFO", "WARN", "ERROR", "DEBUG"), r.word()+"-"+r.word(), r.camel(), r.sentence(), r.word(), r.n(5000), r.word(), r.n(900))
		default:
			fmt.Fprintf(b, "Nov %2d %02d:%02d:%02d %s-%d %s[%d]: %s\n", r.between(1, 28), r.n(24), r.n(60), r.n(60), r.word(), r.n(20), r.word(), r.n(40000), r.sentence())
		}
	})
}

func listing(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		fmt.Fprintf(b, "%s %2d %s %s %8d %s %2d %02d:%02d %s\n", r.one("-rw-r--r--", "drwxr-xr-x", "-rwxr-xr-x", "lrwxrwxrwx"), r.between(1, 30), r.one("root", "www-data", r.word()),
			r.one("root", "staff", "users"), r.n(10_000_000), r.one("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), r.between(1, 28), r.n(24), r.n(60),
			r.one(r.word(), r.snake()+".go", r.camel()+".ts", r.word()+"-"+r.word()+".json", r.word()+".md", r.word()+"_test.go"))
	})
}

func gitLog(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		if r.chance(50) {
			fmt.Fprintf(b, "%s %s\n", r.hex(7), r.sentence())
			return
		}
		fmt.Fprintf(b, "commit %s\nAuthor: %s %s <%s@example.com>\nDate:   Mon Nov %d %02d:%02d:%02d 2026 +0100\n\n    %s: %s\n\n    %s\n\n", r.hex(40), r.title(), r.title(), r.word(), r.between(1, 28), r.n(24), r.n(60), r.n(60), r.word(), r.sentence(), r.sentence())
	})
}

func goSum(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		mod := "github.com/" + r.word() + r.one("", "-", "hq", "io") + "/" + r.one(r.word(), "go-"+r.word())
		v := fmt.Sprintf("v%d.%d.%d", r.n(3), r.n(40), r.n(12))
		fmt.Fprintf(b, "%s %s h1:%s\n%s %s/go.mod h1:%s\n", mod, v, base64.StdEncoding.EncodeToString(r.bytes(32)), mod, v, base64.StdEncoding.EncodeToString(r.bytes(32)))
	})
}

func hexSums(r *rng, n int) string {
	size := []int{32, 40, 64}[r.n(3)]
	return fill(n, func(b *strings.Builder) {
		fmt.Fprintf(b, "%s  %s\n", r.hex(size), r.path(r.one(".go", ".tar.gz", ".png")))
	})
}

func hexDump(r *rng, n int) string {
	data := r.bytes(n / 4)
	for i := range data {
		if r.chance(40) {
			data[i] = byte(r.between(32, 126))
		} else if r.chance(30) {
			data[i] = 0
		}
	}
	return hex.Dump(data)
}

func base64Text(r *rng, n int) string {
	data := r.bytes(n * 3 / 4)
	if r.chance(30) { // encoded text, as in data URLs and tokens
		data = []byte(jsonDense(r, n*3/4))
	}
	enc := base64.StdEncoding
	if r.chance(30) {
		enc = base64.URLEncoding
	}
	s := enc.EncodeToString(data)
	if r.chance(50) {
		return s
	}
	return fill(len(s), func(b *strings.Builder) { b.WriteString(s[:min(76, len(s))] + "\n"); s = s[min(76, len(s)):] + "=" })
}

func identifiers(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		fmt.Fprintf(b, "%s %s %s\n", r.one(r.uuid(), "toolu_01"+base64.RawURLEncoding.EncodeToString(r.bytes(16)), "req_"+r.hex(24), "sk-"+base64.RawURLEncoding.EncodeToString(r.bytes(24)),
			"eyJhbGciOiJIUzI1NiJ9."+base64.RawURLEncoding.EncodeToString(r.bytes(60))), r.snake(), r.stamp())
	})
}

func csv(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		fmt.Fprintf(b, "%d,%s,%s@example.com,%d.%02d,%s,%s\n", r.n(100000), r.title()+" "+r.title(), r.word(), r.n(1000), r.n(100), r.one("true", "false"), r.stamp()[:10])
	})
}

func yaml(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		pad := strings.Repeat("  ", r.n(4))
		switch r.n(4) {
		case 0:
			fmt.Fprintf(b, "%s%s:\n", pad, r.camel())
		case 1:
			fmt.Fprintf(b, "%s- %s: %s\n", pad, r.word(), r.word())
		case 2:
			fmt.Fprintf(b, "%s%s: \"%s:%d\"\n", pad, r.snake(), r.word(), r.n(9000))
		default:
			fmt.Fprintf(b, "%s%s: %s\n", pad, r.word(), r.one("true", "false", r.word(), fmt.Sprint(r.n(1000)), r.path(".yaml")))
		}
	})
}

func sql(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		t, u := r.snake(), r.snake()
		switch r.n(3) {
		case 0:
			fmt.Fprintf(b, "SELECT t.%s, COUNT(*) AS total\nFROM %s t\nJOIN %s u ON u.%s_id = t.id\nWHERE t.%s = '%s' AND u.%s > %d\nGROUP BY t.%s ORDER BY total DESC LIMIT %d;\n\n", r.snake(), t, u, r.word(), r.snake(), r.word(), r.word(), r.n(1000), r.word(), r.n(100))
		case 1:
			fmt.Fprintf(b, "CREATE TABLE IF NOT EXISTS %s (\n  id BIGSERIAL PRIMARY KEY,\n  %s TEXT NOT NULL,\n  %s TIMESTAMPTZ DEFAULT now(),\n  %s INTEGER REFERENCES %s(id)\n);\n\n", t, r.snake(), r.snake(), r.snake(), u)
		default:
			fmt.Fprintf(b, "INSERT INTO %s (%s, %s, %s) VALUES (%d, '%s', '%s');\n", t, r.snake(), r.word(), r.word(), r.n(10000), r.sentence(), r.stamp())
		}
	})
}
