package secrets

import (
	"bytes"
	"strings"
)

// charset says what a token consists of after its head.
type charset uint8

const (
	letters charset = iota // and digits
	urlSafe                // these, "-" and "_"
	dotted                 // these, and "."
)

func (s charset) has(c byte) bool {
	return isAlnum(c) || s >= urlSafe && (c == '-' || c == '_') || s == dotted && c == '.'
}

// tokens are credentials that say by their beginning who issued them, and how many
// characters come after it at least. The heads and lengths are facts from the rules
// of Betterleaks (github.com/betterleaks/betterleaks, MIT), which goes on where
// gitleaks stopped to take new ones, without what tells a token only by a word
// somewhere before it. Lengths are the shortest that were issued.
var tokens = [...]struct {
	head  string
	least int
	of    charset
}{
	{"AGE-SECRET-KEY-1", 50, letters},
	{"AIza", 35, urlSafe},
	{"ATATT3", 180, urlSafe},
	{"CLOJARS_", 60, letters},
	{"GOCSPX-", 20, urlSafe},
	{"IQoJb3JpZ2luX2Vj", 40, letters}, // session tokens of AWS
	{"FwoGZXIvYXdz", 40, letters},
	{"NRAK-", 27, letters},
	{"PMAK-", 40, urlSafe},
	{"SG.", 66, dotted},
	{"dapi", 32, letters},
	{"dckr_oat_", 27, urlSafe},
	{"dckr_pat_", 27, urlSafe},
	{"doo_v1_", 64, letters},
	{"dop_v1_", 64, letters},
	{"dor_v1_", 64, letters},
	{"dp.ct.", 40, letters},
	{"dp.pt.", 40, letters},
	{"dp.st.", 40, dotted},
	{"dt0c01.", 80, dotted},
	{"dt0s01.", 80, dotted},
	{"eyJrIjoi", 60, letters}, // keys of Grafana, of which "k" is the key
	{"figd_", 38, urlSafe},
	{"github_pat_", 36, urlSafe},
	{"gho_", 36, letters},
	{"ghp_", 36, letters},
	{"ghr_", 36, letters},
	{"ghs_", 36, letters},
	{"ghu_", 36, letters},
	{"glagent-", 20, urlSafe},
	{"glcbt-", 20, urlSafe},
	{"glc_", 32, letters},
	{"gldt-", 20, urlSafe},
	{"glft-", 20, urlSafe},
	{"glimt-", 20, urlSafe},
	{"gloas-", 20, urlSafe},
	{"glpat-", 20, urlSafe},
	{"glptt-", 20, urlSafe},
	{"glrt-", 20, urlSafe},
	{"glsa_", 32, urlSafe},
	{"glsoat-", 20, urlSafe},
	{"gsk_", 50, letters},
	{"hf_", 34, letters},
	{"hvb.", 100, urlSafe},
	{"hvs.", 24, urlSafe},
	{"lin_api_", 40, letters},
	{"npm_", 36, letters},
	{"ntn_", 40, letters},
	{"nvapi-", 60, urlSafe},
	{"ops_eyJ", 100, letters},
	{"pplx-", 48, letters},
	{"pscale_oauth_", 32, dotted},
	{"pscale_pw_", 32, dotted},
	{"pscale_tkn_", 32, dotted},
	{"pul-", 40, letters},
	{"pypi-AgEIcHlwaS5vcmc", 50, urlSafe},
	{"r8_", 37, letters},
	{"rdme_", 70, letters},
	{"rk_live_", 10, letters},
	{"rk_prod_", 10, letters},
	{"rk_test_", 10, letters},
	{"rubygems_", 48, letters},
	{"sbp_", 40, letters},
	{"sgp_", 40, urlSafe},
	{"shpat_", 32, letters},
	{"shpca_", 32, letters},
	{"shppa_", 32, letters},
	{"shpss_", 32, letters},
	{"shippo_live_", 40, letters},
	{"sk-", 48, letters},
	{"sk-admin-", 40, urlSafe},
	{"sk-ant-", 40, urlSafe},
	{"sk-or-v1-", 40, letters},
	{"sk-proj-", 40, urlSafe},
	{"sk-svcacct-", 40, urlSafe},
	{"sk_live_", 10, letters},
	{"sk_prod_", 10, letters},
	{"sk_test_", 10, letters},
	{"sntrys_", 40, urlSafe},
	{"sntryu_", 64, letters},
	{"sq0atp-", 22, urlSafe},
	{"sq0csp-", 43, urlSafe},
	{"tfp_", 40, dotted},
	{"tskey-api-", 20, urlSafe},
	{"tskey-auth-", 20, urlSafe},
	{"whsec_", 32, letters},
	{"xai-", 70, urlSafe},
	{"xapp-", 20, urlSafe},
	{"xkeysib-", 64, urlSafe},
	{"xoxa-", 10, urlSafe},
	{"xoxb-", 16, urlSafe},
	{"xoxc-", 16, urlSafe},
	{"xoxd-", 16, urlSafe},
	{"xoxe-", 16, urlSafe},
	{"xoxe.xox", 16, urlSafe},
	{"xoxp-", 16, urlSafe},
	{"xoxr-", 10, urlSafe},
	{"xoxs-", 10, urlSafe},
	{"ya29.", 20, urlSafe},
}

type tokenHead struct {
	text   string
	anchor int // where its first "-", "_" or "." stands
	token  int // its place in tokens
}

// tokenHeads are the heads by the byte before the first anchor. Those without an
// anchor are at zero.
var tokenHeads = func() (by [256][]tokenHead) {
	for i, t := range tokens {
		head, before := tokenHead{t.head, strings.IndexAny(t.head, "-_."), i}, byte(0)
		if head.anchor > 0 {
			before = t.head[head.anchor-1]
		}
		by[before] = append(by[before], head)
	}
	return by
}()

// tokenAt is the token of which the first "-", "_" or "." stands at i.
func tokenAt(b []byte, i int, rough bool) (from, to int) {
	if i == 0 {
		return 0, 0
	}
	for _, head := range tokenHeads[b[i-1]] {
		at := i - head.anchor
		if head.text[head.anchor] != b[i] || at < 0 || len(b)-at < len(head.text) || string(b[at:at+len(head.text)]) != head.text {
			continue
		}
		if from, to = tokenFrom(b, at, head.token, rough); from < to {
			return from, to
		}
	}
	return 0, 0
}

// googleKey is the head of API keys of Google. It has no anchor, and what follows
// may have one soon.
var googleKey = []byte("AIza")

// minHeadless is the length from which on a word is a token without an anchor, or
// the path of a webhook; of API keys of Google it may be less.
const minHeadless = 18

// tokenFrom is the token of a shape at the beginning of which at is.
func tokenFrom(b []byte, at, n int, rough bool) (from, to int) {
	if !rough && at > 0 && isAlnum(b[at-1]) {
		return 0, 0
	}
	end := at + len(tokens[n].head)
	for end < len(b) && tokens[n].of.has(b[end]) {
		end++
	}
	if end-at-len(tokens[n].head) < tokens[n].least {
		return 0, 0
	}
	return at, end
}

// tokenIn is a token that stands in a word from start to end, or begins there, and
// has no anchor in its head, or the last part of a URL that lets one post
// something.
func tokenIn(b []byte, start, end int, rough bool) (from, to int) {
	word := b[start:end]
	if len(word) < minHeadless && !bytes.Contains(word, googleKey) {
		return 0, 0
	}
	for _, head := range tokenHeads[0] {
		if at := bytes.Index(word, []byte(head.text)); at >= 0 {
			if from, to = tokenFrom(b, start+at, head.token, rough); from < to {
				return from, to
			}
		}
	}
	if bytes.IndexByte(word, '/') < 0 {
		return 0, 0
	}
	for _, hook := range hooks {
		at := bytes.Index(word, []byte(hook.after))
		if at < 0 {
			continue
		}
		from = start + at + len(hook.after)
		for range hook.skip {
			next := bytes.IndexByte(b[from:end], '/')
			if next < 8 {
				return 0, 0
			}
			from += next + 1
		}
		for to = from; to < len(b) && urlSafe.has(b[to]); to++ {
		}
		if to-from >= hook.least {
			return from, to
		}
	}
	return 0, 0
}

// hooks are paths of webhooks whose last part is a secret. Those of Slack and of
// Discord have identifiers before it, which are to be skipped.
var hooks = [...]struct {
	after string
	skip  int
	least int
}{
	{"/services/T", 2, 20},
	{"/api/webhooks/", 1, 50},
	{"/IncomingWebhook/", 0, 32},
	{"/triggers/T", 2, 20},
	{"/workflows/T", 2, 20},
}

// botToken is what follows the ":" at i in the token of a bot at Telegram.
func botToken(b []byte, start, i int) (from, to int) {
	if i-start < 8 || i+1 >= len(b) || b[i+1] != 'A' {
		return 0, 0
	}
	for _, c := range b[i-8 : i] {
		if c < '0' || c > '9' {
			return 0, 0
		}
	}
	for to = i + 1; to < len(b) && urlSafe.has(b[to]); to++ {
	}
	if to-i-1 < 34 {
		return 0, 0
	}
	return i + 1, to
}
