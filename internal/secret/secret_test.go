package secret

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contexts are the surroundings in which tool output, code and logs show a
// secret. Each must neither hide it nor be eaten with it. escape says that the
// sample is put in as the inside of a JSON string.
var contexts = []struct {
	name, before, after string
	escape              bool
}{
	{name: "alone"},
	{name: "in prose", before: "Use ", after: ", please.\nThen go on."},
	{name: "line numbers of a read", before: "     1→first\n     2→", after: "\n     3→last"},
	{name: "in a diff", before: "+", after: "\n-old"},
	{name: "coloured", before: "\x1b[32m", after: "\x1b[0m"},
	{name: "in JSON", before: `{"output":"`, after: `"}`, escape: true},
	{name: "after an escaped newline", before: `{"output":"first line\n`, after: `\nlast"}`, escape: true},
	{name: "after an escaped tab", before: `{"output":"a\t`, after: `\t"}`, escape: true},
	{name: "after an escaped colour", before: `{"output":"\u001b[31m`, after: `\u001b[0m"}`, escape: true},
	{name: "after an escaped letter", before: `{"output":"\u003e`, after: `\u003c"}`, escape: true},
	{name: "CRLF", before: "a\r\n", after: "\r\nb"},
	{name: "among other scripts", before: "鍵 ", after: " です"},
}

// inside returns the text between the quotes of the JSON string for s.
func inside(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

// TM-3, H-8, rohitg00/agentmemory#911: each kind of secret is found in every surrounding, with its exact
// range, and is gone after redaction.
func TestEverySampleInEveryContext(t *testing.T) {
	for _, c := range contexts {
		for _, s := range newMaker(1).samples() {
			t.Run(c.name+"/"+s.rule, func(t *testing.T) {
				inner, want := s.text(), s.secret
				if c.escape {
					inner, want = inside(inner), inside(want)
				}
				text := c.before + inner + c.after
				clean, found := Redact(text)
				if len(found) != 1 {
					t.Fatalf("found %v in a text with one secret", found)
				}
				f := found[0]
				if f.Rule != s.rule {
					t.Errorf("rule %s, want %s", f.Rule, s.rule)
				}
				if got := text[f.Start:f.End]; got != want {
					t.Errorf("range holds %d bytes (%d to %d), want %d", len(got), f.Start, f.End, len(want))
				}
				if wantLine := 1 + strings.Count(text[:f.Start], "\n"); f.Line != wantLine {
					t.Errorf("line %d, want %d", f.Line, wantLine)
				}
				if strings.Contains(clean, want) || !strings.Contains(clean, "[REDACTED:"+s.rule+"]") {
					t.Errorf("not redacted: %q", clean)
				}
				if c.escape && !json.Valid([]byte(clean)) {
					t.Errorf("redaction broke the JSON: %s", clean)
				}
			})
		}
	}
}

// TM-3: whoever is told of a finding is never told the secret, in any format.
func TestFindingNeverShowsTheSecret(t *testing.T) {
	for _, s := range newMaker(2).samples() {
		for _, f := range Scan("first line\n" + s.text()) {
			asJSON, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, shown := range []string{f.String(), string(asJSON), fmt.Sprintf("%v %+v %#v", f, f, f)} {
				for i := 0; i+8 <= len(s.secret); i++ {
					if strings.Contains(shown, s.secret[i:i+8]) {
						t.Fatalf("%s shows a part of the secret: %s", s.rule, shown)
					}
				}
			}
			if want := "line 2: " + s.rule; f.String() != want {
				t.Errorf("String() = %q, want %q", f.String(), want)
			}
		}
	}
}

func TestRuleTable(t *testing.T) {
	covered := map[string]bool{}
	for _, s := range newMaker(3).samples() {
		covered[s.rule] = true
	}
	ids := map[string]bool{}
	for _, r := range ruleTable() {
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(r.id) || r.doc == "" || len(r.keywords) == 0 {
			t.Errorf("rule %q: identifier, description and keywords are required", r.id)
		}
		if ids[r.id] {
			t.Errorf("two rules are called %s", r.id)
		}
		ids[r.id] = true
		if !covered[r.id] {
			t.Errorf("rule %s has no sample", r.id)
		}
		ways := 0
		for _, has := range []bool{r.body != nil && !r.named, r.named, r.pattern != "", r.find != nil} {
			if has {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("rule %s is %d of token, named value, pattern and function, want one", r.id, ways)
		}
		for _, k := range r.keywords {
			if len(k) < 2 {
				t.Errorf("rule %s: keyword %q would be met everywhere", r.id, k)
			}
		}
	}
	if len(Rules()) != len(ids) {
		t.Errorf("Rules() has %d rules, the table %d", len(Rules()), len(ids))
	}
}

// What people write in documents, code and configuration in place of secrets.
func TestNoFalseAlarm(t *testing.T) {
	m := newMaker(4)
	for _, text := range []string{
		"AWS_ACCESS_KEY_ID=AK" + "IAIOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
		"sk-" + "ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"export ANTHROPIC_API_KEY=sk-" + "ant-your-key-goes-in-here-0000",
		"gh" + "p_" + strings.Repeat("x", 36),
		"-----BEGIN RSA " + "PRIVATE KEY-----\n...\n-----END RSA " + "PRIVATE KEY-----",
		"-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("A", 200) + "\n-----END " + "PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE-----\n" + m.from(alnums, 64) + "\n-----END CERTIFICATE-----",
		"A file that begins with -----BEGIN " + "PRIVATE KEY----- is a key, and words follow words here without any end.",
		"postgres://user:password@localhost/db", "postgres://postgres:postgres@localhost:5432/test",
		"https://user:${TOKEN}@example.com", "https://user:%s@host", "redis://:<password>@host", "http://localhost:8080/@vite/client",
		"ssh://git@github.com:22/x.git", "docker://registry:5000/image@sha256:abc", "https://x:****@host", "see http://a.b/c:d@e",
		"Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer YOUR_API_KEY", "Authorization: Basic realm",
		"Authorization: Basic authentication is used", "The bearer token authentication scheme", "bearer responsibilities",
		`password = "changeme"`, `password: "your-password-here1"`, `password = os.Getenv("DB_PASSWORD")`, `password: ${DB_PASSWORD}`,
		`password := r.FormValue("password")`, `type: "password"`, `"password": "string"`, `passwordField = "user.password"`,
		`password_file = "/etc/app/password1.txt"`, `label: "Password", name: "password"`, `const password = generatePassword1()`,
		`max_tokens = 4096`, `"tokens": "12345678901234567890"`, `token_count: 123456789012345678`, `tokenizer = "cl100k_base_v2_2023"`,
		`token: "ACCESS_TOKEN_REFRESH_V2"`, `secret: "my-secret-name-in-vault-2024"`, `token = "keyword.operator.word.2"`,
		`secretName: database-credentials-v1-2`, `api_key: "API_KEY"`, `apiKey = config.get("apiKey")`, `access_key_id`, `secretKeyRef: {name: x1}`,
		`token := strings.TrimSpace(line[12:40])`, `csrf_token = "{{ csrf_token() }}"`, `{"token": "https://example.com/oauth2/token12345"}`,
		"[REDACTED:github-token]", `password = "[REDACTED:password]"`, "SKIPPED", "SKU123", "ask-anthropic", "task-" + m.from(alnums, 40),
		"eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.not.a-token", "npm_config_registry=https://registry.npmjs.org/", "npm_package_json_dependencies_react_version",
	} {
		if found := Scan(text); len(found) > 0 {
			t.Errorf("%q: false alarm %v", text, found)
		}
	}
}

// A key in the dresses in which tools show it.
func TestPrivateKeyDresses(t *testing.T) {
	m := newMaker(5)
	key := m.pem("RSA "+"PRIVATE KEY", 12)
	lines := strings.Split(key, "\n")
	var numbered, literal, table strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&numbered, "%6d→%s\n", i+1, l)
		fmt.Fprintf(&literal, "\t%q +\n", l+"\n")
		fmt.Fprintf(&table, "%d | %s\n", i+1, l)
	}
	for name, text := range map[string]string{
		"as it is":          key,
		"CRLF":              strings.ReplaceAll(key, "\n", "\r\n"),
		"indented":          strings.ReplaceAll(key, "\n", "\n    "),
		"line numbers":      numbered.String(),
		"table":             table.String(),
		"string literals":   literal.String(),
		"JSON":              quote(key),
		"JSON in JSON":      quote(quote(key)),
		"array of lines":    `["` + strings.Join(lines, `","`) + `"]`,
		"cut off":           strings.Join(lines[:8], "\n"),
		"cut off, numbered": strings.Join(strings.Split(numbered.String(), "\n")[:8], "\n"),
		"tail":              strings.Join(lines[5:], "\n"),
		"tail in JSON":      quote(strings.Join(lines[5:], "\n")),
		"encrypted":         strings.Replace(key, "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			clean, found := Redact("before it\n" + text + "\nbehind it")
			for _, f := range found {
				if f.Rule != "private-key" {
					t.Errorf("found as %s", f.Rule)
				}
			}
			for _, l := range lines[1 : len(lines)-1] {
				for i := 0; i+16 <= len(l); i += 16 {
					if strings.Contains(clean, l[i:i+16]) {
						t.Fatalf("a part of the key is left:\n%s", clean)
					}
				}
			}
			if !strings.HasPrefix(clean, "before it\n") || !strings.HasSuffix(clean, "\nbehind it") {
				t.Errorf("the text around was changed:\n%s", clean)
			}
			if strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "[") {
				if c, _ := Redact(text); !json.Valid([]byte(c)) {
					t.Errorf("no longer JSON: %s", c)
				}
			}
		})
	}
}

// Secrets that touch, and several on a line.
func TestNeighbours(t *testing.T) {
	m := newMaker(6)
	a, b := "gh"+"p_"+m.from(alnums, 36), "AK"+"IA"+m.from(uppers+"234567", 16)
	for _, text := range []string{a + " " + b, a + "," + b, a + "\n" + b, `["` + a + `","` + b + `"]`, a + `\n` + b} {
		clean, found := Redact(text)
		if len(found) != 2 || strings.Contains(clean, a[8:20]) || strings.Contains(clean, b[6:]) {
			t.Errorf("%d findings of 2, %q", len(found), clean)
		}
	}
	// The specific rule names a value that also has a name before it.
	_, found := Redact(`token = "` + a + `"`)
	if len(found) != 1 || found[0].Rule != "github-token" {
		t.Errorf("found %v, want github-token", found)
	}
}

func TestEmptyAndClean(t *testing.T) {
	for _, text := range []string{"", "\n", "nothing here", strings.Repeat("plain text\n", 1000)} {
		clean, found := Redact(text)
		if clean != text || found != nil {
			t.Errorf("a clean text was changed or has findings: %v", found)
		}
	}
}

// Hostile input must not make the scan slow: each of these takes minutes when a
// match costs as much as the text is long.
func TestHostileInputIsLinear(t *testing.T) {
	m := newMaker(7)
	key := "gh" + "p_" + m.from(alnums, 36)
	for _, unit := range []string{
		pemBegin + "RSA " + "PRIVATE KEY-----\n", pemEnd + "PRIVATE KEY-----\n", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.eyJ", "://a:b@", "password=", "token:\"", "secret_",
		"sk-ant-", "basic ", "authorization: bearer ", strings.Repeat("A", 64) + "\n", key + " ", "\\", "\"", `password=\"`,
	} {
		text := strings.Repeat(unit, (96<<10)/len(unit))
		Redact(text)
		RedactJSON([]byte(text))
	}
}

func TestRedactJSON(t *testing.T) {
	m := newMaker(8)
	pass := m.from(alnums, 14)
	token := "gh" + "p_" + m.from(alnums, 36)
	type doc = map[string]any
	cases := []struct {
		name  string
		value any
		lost  []string
	}{
		{"plain string", doc{"a": token}, []string{token}},
		{"member name gives it away", doc{"password": pass}, []string{pass}},
		{"escaped quotes around it", doc{"out": `password = "` + pass + `"`}, []string{pass}},
		{"JSON in a string", doc{"out": quote(quote(`{"password":"` + pass + `"}`))}, []string{pass}},
		{"behind a newline", doc{"out": "a\n" + token + "\nb"}, []string{token}},
		{"two in one string", doc{"out": "x\n" + token + "\npassword: \"" + pass + "\"\n"}, []string{token, pass}},
		{"in a member name", doc{token: 1}, []string{token}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw := []byte(`{"n":545.2778597981155,"big":12345678901234567890,"e":1E+2,"html":"<a>&","v":` + marshal(c.value) + `}` + "\n")
			clean, found := RedactJSON(raw)
			if !json.Valid(clean) {
				t.Fatalf("invalid: %s", clean)
			}
			for _, l := range c.lost {
				if strings.Contains(string(clean), l) {
					t.Errorf("still there: %s", clean)
				}
			}
			for _, kept := range []string{"545.2778597981155", "12345678901234567890", "1E+2", `"<a>&"`} {
				if !strings.Contains(string(clean), kept) {
					t.Errorf("%s was not kept: %s", kept, clean)
				}
			}
			if len(found) != len(c.lost) {
				t.Errorf("%d findings, want %d", len(found), len(c.lost))
			}
			for _, f := range found {
				if f.Line != 1 || f.Start < 0 || f.End > len(raw) || f.Start >= f.End {
					t.Errorf("bad place %+v", f)
				}
			}
			if again, fs := RedactJSON(clean); string(again) != string(clean) || len(fs) > 0 {
				t.Errorf("not idempotent: %v", fs)
			}
		})
	}
}

// T-10: damaged lines do not keep the lines behind them from being looked into.
func TestRedactJSONLines(t *testing.T) {
	m := newMaker(9)
	a, b := "gh"+"p_"+m.from(alnums, 36), m.from(alnums, 14)
	text := `{"a":"x\n` + a + `"}` + "\n" + `{"torn":"` + "\n" + `{"out":"password = \"` + b + `\""}` + "\nnot json\n"
	clean, found := RedactJSON([]byte(text))
	if strings.Contains(string(clean), a) || strings.Contains(string(clean), b) {
		t.Errorf("still there:\n%s", clean)
	}
	lines := []int{}
	for _, f := range found {
		lines = append(lines, f.Line)
	}
	if !slices.Equal(lines, []int{1, 3}) {
		t.Errorf("findings on lines %v, want 1 and 3", lines)
	}
	if strings.Count(string(clean), "\n") != strings.Count(text, "\n") {
		t.Errorf("the number of lines changed")
	}
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
