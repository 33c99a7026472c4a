package filter

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// amounts is a range of numbers, both ends included.
type amounts struct{ least, most int64 }

func (a amounts) has(n int64) bool { return a.least <= n && n <= a.most }

// parseAmounts reads 5, >5, >=5, <5, <=5, 5..9, 5.. or ..9 of numbers that are
// not negative.
func parseAmounts(text string, parse func(string) (int64, bool)) (a amounts, ok bool) {
	a = amounts{0, math.MaxInt64}
	for _, sign := range []string{">=", "<=", ">", "<"} {
		bare, is := strings.CutPrefix(text, sign)
		if !is {
			continue
		}
		n, ok := parse(bare)
		switch sign {
		case ">=":
			a.least = n
		case "<=":
			a.most = n
		case ">":
			a.least = n + 1 // of the largest number: none is greater
			ok = ok && n < math.MaxInt64
		case "<":
			a.most = n - 1
		}
		return a, ok
	}
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	if from == "" && to == "" {
		return a, false
	}
	ok = true
	read := func(text string, p *int64) {
		if text == "" {
			return
		}
		n, is := parse(text)
		*p, ok = n, ok && is
	}
	read(from, &a.least)
	read(to, &a.most)
	return a, ok
}

// amountOf makes the parser of a key whose values are amounts; is reads one,
// and of gives that of a row.
func amountOf(is func(string) (int64, bool), like string, of func(*Row) (int64, bool)) func(string) (value, *Error) {
	return func(text string) (value, *Error) {
		a, ok := parseAmounts(text, is)
		if !ok {
			return nil, wrong("%q is not %s", text, like)
		}
		if a.most < a.least && a.most >= 0 {
			return nil, wrong("%q ends before it begins", text)
		}
		return &amountValue{a, of}, nil
	}
}

type amountValue struct {
	amounts
	of func(*Row) (int64, bool)
}

func (v *amountValue) takes(r *Row) bool {
	n, is := v.of(r)
	return is && v.has(n)
}

func wholeNumber(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}

func duration(s string) (int64, bool) {
	d, err := time.ParseDuration(s)
	return int64(d), err == nil && d >= 0 && !strings.HasPrefix(s, "+") && !strings.HasPrefix(s, "-")
}

// bytes reads a size: 980, 6.2k, 1M and 1MB count in thousands, as sizes are
// shown in lines, 1MiB counts in powers of 1,024.
func bytes(s string) (int64, bool) {
	s = strings.ToLower(s)
	s, b := strings.CutSuffix(s, "b")
	unit, base := float64(1), float64(1000)
	s, binary := strings.CutSuffix(s, "i")
	if binary {
		base = 1024
	}
	power := -1
	if s != "" {
		power = strings.IndexByte("kmgt", s[len(s)-1])
	}
	if power >= 0 {
		unit, s = math.Pow(base, float64(power+1)), s[:len(s)-1]
	}
	if binary && (power < 0 || !b) || s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	n = math.Round(n * unit)
	return int64(n), err == nil && n < math.MaxInt64
}
