package secrets

// sixBits are the values of the letters of base64, or 0xff.
var sixBits = func() (of [256]uint8) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range of {
		of[i] = 0xff
	}
	for i := range len(letters) {
		of[letters[i]] = uint8(i)
	}
	return of
}()

// base64Text is the first part of a word that is text in base64: from 12 letters
// on, wherever in the word it begins. It looks at every fourth letter, of which
// most words have one that is no beginning of text.
func base64Text(word []byte) (from, to int) {
	var begins [4]uint8 // how many fourth letters in a row begin text
	for p, c := range word {
		if v := sixBits[c]; v < 8 || v > 31 { // of which the first byte is no printable ASCII
			begins[p&3] = 0
			continue
		}
		if begins[p&3]++; begins[p&3] < 3 || p+4 > len(word) {
			continue
		}
		if from, to = p-8, p+4; !isText64(word[from:from+4]) || !isText64(word[from+4:from+8]) || !isText64(word[p:to]) {
			continue
		}
		for from >= 4 && isText64(word[from-4:from]) {
			from -= 4
		}
		for to+4 <= len(word) && isText64(word[to:to+4]) {
			to += 4
		}
		if rest := len(word) - to; rest == 2 || rest == 3 {
			to = len(word)
		}
		return from, to
	}
	return 0, 0
}

// isText64 says whether four letters of base64 are three bytes of text.
func isText64(q []byte) bool {
	v := uint32(sixBits[q[0]])<<18 | uint32(sixBits[q[1]])<<12 | uint32(sixBits[q[2]])<<6 | uint32(sixBits[q[3]])
	return isTextByte(byte(v>>16)) && isTextByte(byte(v>>8)) && isTextByte(byte(v))
}

func isTextByte(c byte) bool {
	return c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t'
}
