package secret

import (
	"encoding/base64"
	"strings"
)

// rule says how one kind of secret is recognised. Every rule has keywords:
// literals of which one must be present before anything else is tried. A rule
// then is exactly one of a token, a named value, a pattern and a function.
//
// To add a kind of secret, add a line to the table. The identifier is part of
// what users see and must match [a-z0-9-]+.
type rule struct {
	id, doc  string
	keywords []string
	fold     bool // keywords match in any ASCII case
	inside   bool // the keyword may stand inside a word, as in DB_PASSWORD

	// A token is the keyword followed by bytes of body, not followed by a word
	// character. The whole token is the secret. With named set, the keyword is
	// instead a name (or the end or beginning of one) to which the secret is
	// assigned, and body, where given, is what the secret may consist of.
	body  *class
	named bool

	// A pattern is a regular expression that begins at the keyword and sees at
	// most [window] bytes. Its first group is the secret, else all of it. It
	// must not let the secret contain a quote, a backslash or a control
	// character, so that JSON text stays valid. Give limits of length in min and
	// max, not in the pattern: counted repetitions make matching slow.
	pattern string

	// The least and greatest length of what follows the keyword of a token, of
	// a named value or of the secret of a pattern; max 0: no limit.
	min, max int

	// find returns the ranges of the secrets that belong to the keyword at
	// s.text[at:], for what a pattern cannot say.
	find func(s *scanner, at int) [][2]int

	entropy float64                 // the least entropy of the value in bits a byte; 0: any
	accept  func(value string) bool // a last word on the value: the secret, without the keyword of a token
}

// class is a set of bytes.
type class [256]bool

func bytesOf(ranges string) *class {
	var c class
	for i := 0; i < len(ranges); i++ {
		if i+2 < len(ranges) && ranges[i+1] == '-' {
			for b := int(ranges[i]); b <= int(ranges[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[ranges[i]] = true
	}
	return &c
}

var (
	alnum    = bytesOf("A-Za-z0-9")
	urlSafe  = bytesOf("A-Za-z0-9_-")
	wordOnly = bytesOf("A-Za-z0-9_")
	upper    = bytesOf("A-Z0-9")
	hexLower = bytesOf("0-9a-f")
	dotted   = bytesOf("A-Za-z0-9_.-")
)

// ruleTable returns the rules; where two match the same bytes the earlier one
// names the finding. Shapes of tokens are those that the providers document or
// that their own scanners use; the source stands in the line where it is not
// the provider's page on its tokens.
func ruleTable() []rule {
	return append(providerRules(), contextRules()...)
}

// providerRules are tokens that carry their own mark.
func providerRules() []rule {
	return []rule{
		{id: "private-key", doc: "private key block (PEM, OpenSSH, PGP)", inside: true,
			keywords: []string{pemBegin, pemEnd}, find: findPEM},

		{id: "anthropic-key", doc: "Anthropic API key, admin key or OAuth token",
			keywords: []string{"sk-ant-"}, body: urlSafe, min: 24},
		{id: "openai-key", doc: "OpenAI project, service account or admin key",
			keywords: []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, body: urlSafe, min: 20},
		{id: "openai-key-legacy", doc: "OpenAI user key (and other providers that kept the shape sk-…)",
			keywords: []string{"sk-"}, body: alnum, min: 32, entropy: 3},
		{id: "aws-access-key-id", doc: "AWS access key id",
			keywords: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, body: upper, min: 16, max: 16},
		{id: "aws-secret-key", doc: "AWS secret access key beside its name", fold: true, inside: true,
			keywords: []string{"secret_access", "secretaccess", "secret access", "secret-access", "aws_secret", "aws_sec"},
			named:    true, body: base64Std, min: 40, max: 40, entropy: 3.5},
		{id: "github-token", doc: "GitHub personal, OAuth, user, server or refresh token",
			keywords: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, body: alnum, min: 36, max: 255},
		{id: "github-fine-grained-token", doc: "GitHub fine-grained personal access token",
			keywords: []string{"github_pat_"}, body: wordOnly, min: 40},
		{id: "gitlab-token", doc: "GitLab personal, deploy, runner, trigger, feed, agent or job token",
			keywords: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glagent-", "glcbt-", "glsoat-", "glimt-"}, body: dotted, min: 20},
		{id: "google-api-key", doc: "Google API key",
			keywords: []string{"AIza"}, body: urlSafe, min: 35, max: 35},
		{id: "google-oauth-secret", doc: "Google OAuth client secret",
			keywords: []string{"GOCSPX-"}, body: urlSafe, min: 28, max: 28},
		{id: "google-oauth-token", doc: "Google OAuth access token",
			keywords: []string{"ya29."}, body: urlSafe, min: 30},
		{id: "slack-token", doc: "Slack bot, user, app, workspace or refresh token",
			keywords: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}, body: dotted, min: 20, accept: hasDigit},
		{id: "slack-webhook", doc: "Slack incoming webhook", inside: true,
			keywords: []string{"hooks.slack.com/"}, pattern: `hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]+)`, min: 30, max: 200},
		{id: "stripe-key", doc: "Stripe secret or restricted key, or webhook secret",
			keywords: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, body: alnum, min: 16},
		{id: "npm-token", doc: "npm access token",
			keywords: []string{"npm_"}, body: alnum, min: 36, max: 36},
		{id: "pypi-token", doc: "PyPI upload token",
			keywords: []string{"pypi-AgE"}, body: urlSafe, min: 50},
		{id: "sendgrid-key", doc: "SendGrid API key",
			keywords: []string{"SG."}, pattern: `SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]+`, min: 50, max: 100},
		{id: "twilio-key", doc: "Twilio API key",
			keywords: []string{"SK"}, body: hexLower, min: 32, max: 32, entropy: 2.5},
		{id: "huggingface-token", doc: "Hugging Face access or organisation token",
			keywords: []string{"hf_", "api_org_"}, body: alnum, min: 30, max: 40},
		{id: "jwt", doc: "signed JSON web token",
			keywords: []string{"eyJ"}, find: findJWT},
	}
}

// contextRules are values that only their surroundings give away.
func contextRules() []rule {
	return []rule{
		{id: "url-password", doc: "password in the user part of a URL", inside: true,
			keywords: []string{"://"}, find: findURLPassword},
		{id: "authorization-basic", doc: "Authorization header with name and password", fold: true, inside: true,
			keywords: []string{"basic "}, pattern: `(?i:basic)[ \t]{1,4}([A-Za-z0-9+/]+={0,2})`, min: 6, accept: isBasicAuth},
		{id: "authorization-header", doc: "Authorization header with a token", fold: true, inside: true,
			keywords: []string{"authorization"},
			pattern:  `(?i:authorization)\\{0,3}["'\x60]?\]?[ \t]{0,4}(?:=>|:=|=|:|,)[ \t]{0,4}\\{0,3}["'\x60]?(?i:bearer|token|apikey|basic)[ \t]{1,4}([A-Za-z0-9._~+/=-]+)`, min: 12, accept: isToken},
		{id: "bearer-token", doc: "bearer token", fold: true,
			keywords: []string{"bearer "}, pattern: `(?i:bearer)[ \t]{1,4}([A-Za-z0-9._~+/=-]+)`, min: 20, accept: isToken},
		{id: "password", doc: "password beside its name", fold: true, inside: true,
			keywords: []string{"password", "passwd", "passphrase", "pwd"},
			named:    true, min: 8, accept: isPassword},
		{id: "generic-secret", doc: "secret, token or key beside its name", fold: true, inside: true,
			keywords: []string{"secret", "token", "api_key", "api-key", "apikey", "access_key", "access-key", "accesskey",
				"auth_key", "private_key", "signing_key", "encryption_key"},
			named: true, min: 16, accept: isGeneric},
	}
}

// isBasicAuth reports whether value is the base64 of "name:password".
func isBasicAuth(value string) bool {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return false
	}
	name, pass, ok := strings.Cut(string(raw), ":")
	if !ok || pass == "" || isPlaceholder(pass) {
		return false
	}
	for _, b := range []byte(name) {
		if b < 0x20 || b > 0x7e {
			return false
		}
	}
	return true
}

func hasDigit(value string) bool { return strings.ContainsAny(value, "0123456789") }
