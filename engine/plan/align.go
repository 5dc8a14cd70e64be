package plan

import "slices"

// pair is an item of two lists that differs; -1 = the list has none in its place.
type pair struct{ old, now int }

// maxAligned bounds the tables, all those of one node together, in which longest common
// subsequences are looked for. Lists beyond it are compared place by place, behind what
// they have in common at both ends.
const maxAligned = 1 << 20

// align pairs the items of two lists that are not equal, in order: what stands between
// items that stay is paired one by one, and what is left over came or went.
func (w *places) align(old, now []string) []pair {
	start := 0
	for start < len(old) && start < len(now) && old[start] == now[start] {
		start++
	}
	endOld, endNow := len(old), len(now)
	for endOld > start && endNow > start && old[endOld-1] == now[endNow-1] {
		endOld, endNow = endOld-1, endNow-1
	}
	a := &alignment{}
	i, k := start, start
	for _, kept := range w.common(old[start:endOld], now[start:endNow]) {
		a.gap(i, start+kept.old, k, start+kept.now)
		i, k = start+kept.old+1, start+kept.now+1
	}
	a.gap(i, endOld, k, endNow)
	return a.pairs
}

type alignment struct{ pairs []pair }

// gap pairs what stands between two items that stay.
func (a *alignment) gap(i, endOld, k, endNow int) {
	for i < endOld || k < endNow {
		p := pair{-1, -1}
		if i < endOld {
			p.old = i
			i++
		}
		if k < endNow {
			p.now = k
			k++
		}
		a.pairs = append(a.pairs, p)
	}
}

// common is a longest common subsequence, as places in both lists.
func (w *places) common(old, now []string) []pair {
	if len(old) == 0 || len(now) == 0 || len(old) > (maxAligned-w.aligned)/len(now) {
		return nil
	}
	w.aligned += len(old) * len(now)
	width := len(now) + 1
	length := make([]int32, (len(old)+1)*width) // of the subsequence from (i, k) on
	for i, a := range slices.Backward(old) {
		for k, b := range slices.Backward(now) {
			if a == b {
				length[i*width+k] = length[(i+1)*width+k+1] + 1
			} else {
				length[i*width+k] = max(length[(i+1)*width+k], length[i*width+k+1])
			}
		}
	}
	var kept []pair
	for i, k := 0, 0; i < len(old) && k < len(now); {
		switch {
		case old[i] == now[k]:
			kept = append(kept, pair{i, k})
			i, k = i+1, k+1
		case length[(i+1)*width+k] >= length[i*width+k+1]:
			i++
		default:
			k++
		}
	}
	return kept
}
