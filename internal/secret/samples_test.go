package secret

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// Every secret of these tests is made at run time, by joining a mark to random
// letters, so that no scanner finds one in the repository.

const (
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	letters = lowers + uppers
	alnums  = letters + digits
)

// maker makes fake secrets. The same seed makes the same ones.
type maker struct{ r *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 7))} }

// from returns n random bytes of the alphabet, with at least one digit where the
// alphabet has any and n allows.
func (m maker) from(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.r.IntN(len(alphabet))]
	}
	if n > 4 && strings.Contains(alphabet, "7") {
		b[n/2], b[n/3] = '7', '4'
	}
	return string(b)
}

// pem returns a private key block with the given label, of lines of base64.
func (m maker) pem(label string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----\n")
	for range lines {
		b.WriteString(m.from(alnums+"+/", 64) + "\n")
	}
	b.WriteString("-----END " + label + "-----")
	return b.String()
}

func (m maker) jwt() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"`+m.from(digits, 10)+`","admin":true}`) + "." + m.from(alnums+"-_", 43)
}

// sample is a fake secret: secret is what must be found and nothing else, inside
// before + secret + after.
type sample struct {
	rule, before, secret, after string
}

// samples returns fakes of every rule.
func (m maker) samples() []sample {
	basic := base64.StdEncoding.EncodeToString([]byte("deploy:" + m.from(alnums, 14)))
	pgp := "PGP " + "PRIVATE KEY BLOCK"
	return []sample{
		{rule: "private-key", secret: m.pem("RSA "+"PRIVATE KEY", 20)},
		{rule: "private-key", secret: m.pem("PRIVATE KEY", 1)},
		{rule: "private-key", secret: m.pem("OPENSSH "+"PRIVATE KEY", 6)},
		{rule: "private-key", secret: m.pem("EC "+"PRIVATE KEY", 3)},
		{rule: "private-key", secret: m.pem(pgp, 40)},
		{rule: "anthropic-key", secret: "sk-" + "ant-api03-" + m.from(alnums+"-_", 93) + "AA"},
		{rule: "anthropic-key", secret: "sk-" + "ant-admin01-" + m.from(alnums+"-_", 93) + "AA"},
		{rule: "anthropic-key", secret: "sk-" + "ant-oat01-" + m.from(alnums+"-_", 93) + "AA"},
		{rule: "openai-key", secret: "sk-" + "proj-" + m.from(alnums+"-_", 74) + "T3" + "BlbkFJ" + m.from(alnums, 74)},
		{rule: "openai-key", secret: "sk-" + "svcacct-" + m.from(alnums+"-_", 60)},
		{rule: "openai-key-legacy", secret: "sk-" + m.from(alnums, 20) + "T3" + "BlbkFJ" + m.from(alnums, 20)},
		{rule: "openai-key-legacy", secret: "sk-" + m.from("0123456789abcdef", 32)},
		{rule: "aws-access-key-id", secret: "AK" + "IA" + m.from(uppers+"234567", 16)},
		{rule: "aws-access-key-id", secret: "AS" + "IA" + m.from(uppers+"234567", 16)},
		{rule: "aws-secret-key", before: "aws_secret_access_key = ", secret: m.from(alnums+"/+", 40)},
		{rule: "aws-secret-key", before: `"SecretAccessKey": "`, secret: m.from(alnums+"/+", 40), after: `"`},
		{rule: "github-token", secret: "gh" + "p_" + m.from(alnums, 36)},
		{rule: "github-token", secret: "gh" + "s_" + m.from(alnums, 36)},
		{rule: "github-fine-grained-token", secret: "github_" + "pat_" + m.from(alnums, 22) + "_" + m.from(alnums, 59)},
		{rule: "gitlab-token", secret: "glp" + "at-" + m.from(alnums+"-_", 19) + "a"},
		{rule: "google-api-key", secret: "AI" + "za" + m.from(alnums+"-_", 34) + "a"},
		{rule: "google-oauth-secret", secret: "GOC" + "SPX-" + m.from(alnums+"-_", 27) + "a"},
		{rule: "google-oauth-token", secret: "ya" + "29." + m.from(alnums+"-_", 120) + "a"},
		{rule: "slack-token", secret: "xo" + "xb-" + m.from(digits, 12) + "-" + m.from(digits, 12) + "-" + m.from(alnums, 24)},
		{rule: "slack-token", secret: "xa" + "pp-1-A" + m.from(uppers+digits, 10) + "-" + m.from(digits, 13) + "-" + m.from("0123456789abcdef", 64)},
		{rule: "slack-webhook", before: "https://hooks." + "slack.com/services/", secret: "T" + m.from(uppers+digits, 8) + "/B" + m.from(uppers+digits, 8) + "/" + m.from(alnums, 24)},
		{rule: "stripe-key", secret: "sk_" + "live_" + m.from(alnums, 24)},
		{rule: "stripe-key", secret: "rk_" + "live_" + m.from(alnums, 99)},
		{rule: "stripe-key", secret: "wh" + "sec_" + m.from(alnums, 32)},
		{rule: "npm-token", secret: "np" + "m_" + m.from(alnums, 36)},
		{rule: "pypi-token", secret: "py" + "pi-AgEIcHlwaS5vcmc" + m.from(alnums+"-_", 150) + "a"},
		{rule: "sendgrid-key", secret: "S" + "G." + m.from(alnums+"-_", 22) + "." + m.from(alnums+"-_", 42) + "a"},
		{rule: "twilio-key", secret: "S" + "K" + m.from("0123456789abcdef", 32)},
		{rule: "huggingface-token", secret: "h" + "f_" + m.from(letters, 34)},
		{rule: "jwt", secret: m.jwt()},
		{rule: "url-password", before: "postgres://app:", secret: m.from(alnums, 12), after: "@db.internal:5432/app?sslmode=require"},
		{rule: "url-password", before: "https://bot:", secret: m.from(alnums, 6) + "@" + m.from(alnums, 6), after: "@git.internal/x.git"},
		{rule: "url-password", before: "redis://:", secret: m.from(alnums, 20), after: "@cache:6379"},
		{rule: "authorization-basic", before: "Authorization: Basic ", secret: basic},
		{rule: "authorization-header", before: "Authorization: Bearer ", secret: m.from("0123456789abcdef", 40)},
		{rule: "authorization-header", before: "authorization: token ", secret: m.from("0123456789abcdef", 40)},
		{rule: "authorization-header", before: `"Authorization": "Bearer `, secret: m.from(alnums, 18), after: `"`},
		{rule: "bearer-token", before: "curl -H bearer ", secret: m.from(alnums, 32)},
		{rule: "password", before: `password = "`, secret: m.from(alnums, 14), after: `"`},
		{rule: "password", before: `DB_PASSWORD=`, secret: m.from(alnums, 14)},
		{rule: "password", before: `"password": "`, secret: m.from(letters, 8) + "!" + m.from(digits, 3), after: `",`},
		{rule: "password", before: "var dbPassword string = `", secret: m.from(alnums, 14), after: "`"},
		{rule: "generic-secret", before: `client_secret: '`, secret: m.from(alnums, 32), after: `'`},
		{rule: "generic-secret", before: `API_KEY=`, secret: m.from(alnums, 32)},
		{rule: "generic-secret", before: `session_token = "`, secret: m.from("0123456789abcdef", 32), after: `"`},
	}
}

// text is the sample as a line of text.
func (s sample) text() string { return s.before + s.secret + s.after }
