package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/runenames"
)

// runeNamed finds a character by its Unicode name or by the alias of a control
// character; case does not matter.
func runeNamed(name string) (rune, bool) {
	if len(name) > maxRuneName {
		return 0, false
	}
	name = strings.ToUpper(name)
	if hex, ok := strings.CutPrefix(name, "CJK UNIFIED IDEOGRAPH-"); ok {
		return ideograph(hex)
	}
	if syllable, ok := strings.CutPrefix(name, "HANGUL SYLLABLE "); ok {
		return hangul(syllable)
	}
	r, ok := runesByName()[name]
	return r, ok
}

// maxRuneName is more than the longest Unicode name has.
const maxRuneName = 100

// runesByName inverts the name table; it is built when a config first names a
// character and never changes.
var runesByName = sync.OnceValue(func() map[string]rune {
	names := make(map[string]rune, 1<<15)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if name := runenames.Name(r); name != "" && name[0] != '<' {
			names[name] = r
		}
	}
	for r, aliases := range controlAliases() {
		for _, alias := range aliases {
			names[alias] = r
		}
	}
	return names
})

func ideograph(hex string) (rune, bool) {
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || v > unicode.MaxRune || fmt.Sprintf("%04X", v) != hex {
		return 0, false
	}
	r := rune(v)
	return r, unicode.Is(unicode.Unified_Ideograph, r) && runenames.Name(r)[0] == '<'
}

// Short names of the jamo, in the order that the syllables are composed in.
var (
	jamoL = strings.Split("G,GG,N,D,DD,R,M,B,BB,S,SS,,J,JJ,C,K,T,P,H", ",")
	jamoV = strings.Split("A,AE,YA,YAE,EO,E,YEO,YE,O,WA,WAE,OE,YO,U,WEO,WE,WI,YU,EU,YI,I", ",")
	jamoT = strings.Split(",G,GG,GS,N,NJ,NH,D,L,LG,LM,LB,LS,LT,LP,LH,M,B,BS,S,SS,NG,J,C,K,T,P,H", ",")
)

func hangul(syllable string) (rune, bool) {
	l, rest := longestPrefix(jamoL, syllable)
	v, rest := longestPrefix(jamoV, rest)
	t, rest := longestPrefix(jamoT, rest)
	if l < 0 || v < 0 || t < 0 || rest != "" {
		return 0, false
	}
	return 0xac00 + rune((l*len(jamoV)+v)*len(jamoT)+t), true
}

func longestPrefix(parts []string, text string) (int, string) {
	best := -1
	for i, part := range parts {
		if strings.HasPrefix(text, part) && (best < 0 || len(part) > len(parts[best])) {
			best = i
		}
	}
	if best < 0 {
		return best, text
	}
	return best, text[len(parts[best]):]
}

// controlAliases are the formal aliases of characters that have no name, and the
// usual abbreviations of invisible ones.
func controlAliases() map[rune][]string {
	aliases := map[rune][]string{
		0xa0: {"NBSP"}, 0xad: {"SHY"}, 0x34f: {"CGJ"}, 0x61c: {"ALM"}, 0x200b: {"ZWSP"}, 0x200c: {"ZWNJ"},
		0x200d: {"ZWJ"}, 0x200e: {"LRM"}, 0x200f: {"RLM"}, 0x202a: {"LRE"}, 0x202b: {"RLE"}, 0x202c: {"PDF"},
		0x202d: {"LRO"}, 0x202e: {"RLO"}, 0x202f: {"NNBSP"}, 0x205f: {"MMSP"}, 0x2060: {"WJ"}, 0x2066: {"LRI"},
		0x2067: {"RLI"}, 0x2068: {"FSI"}, 0x2069: {"PDI"}, 0xfeff: {"BYTE ORDER MARK", "BOM", "ZWNBSP"},
	}
	for first, list := range map[rune]string{
		0: "NULL,NUL|START OF HEADING,SOH|START OF TEXT,STX|END OF TEXT,ETX|END OF TRANSMISSION,EOT|ENQUIRY,ENQ|" +
			"ACKNOWLEDGE,ACK|ALERT,BEL|BACKSPACE,BS|CHARACTER TABULATION,HORIZONTAL TABULATION,HT,TAB|" +
			"LINE FEED,NEW LINE,END OF LINE,LF,NL,EOL|LINE TABULATION,VERTICAL TABULATION,VT|FORM FEED,FF|" +
			"CARRIAGE RETURN,CR|SHIFT OUT,LOCKING-SHIFT ONE,SO|SHIFT IN,LOCKING-SHIFT ZERO,SI|DATA LINK ESCAPE,DLE|" +
			"DEVICE CONTROL ONE,DC1|DEVICE CONTROL TWO,DC2|DEVICE CONTROL THREE,DC3|DEVICE CONTROL FOUR,DC4|" +
			"NEGATIVE ACKNOWLEDGE,NAK|SYNCHRONOUS IDLE,SYN|END OF TRANSMISSION BLOCK,ETB|CANCEL,CAN|" +
			"END OF MEDIUM,EOM,EM|SUBSTITUTE,SUB|ESCAPE,ESC|INFORMATION SEPARATOR FOUR,FILE SEPARATOR,FS|" +
			"INFORMATION SEPARATOR THREE,GROUP SEPARATOR,GS|INFORMATION SEPARATOR TWO,RECORD SEPARATOR,RS|" +
			"INFORMATION SEPARATOR ONE,UNIT SEPARATOR,US|SP",
		0x7f: "DELETE,DEL|PADDING CHARACTER,PAD|HIGH OCTET PRESET,HOP|BREAK PERMITTED HERE,BPH|NO BREAK HERE,NBH|" +
			"INDEX,IND|NEXT LINE,NEL|START OF SELECTED AREA,SSA|END OF SELECTED AREA,ESA|" +
			"CHARACTER TABULATION SET,HORIZONTAL TABULATION SET,HTS",
	} {
		for i, group := range strings.Split(list, "|") {
			aliases[first+rune(i)] = append(aliases[first+rune(i)], strings.Split(group, ",")...)
		}
	}
	return aliases
}
