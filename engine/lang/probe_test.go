package lang

import (
	"testing"
	"time"
	"strings"
)

func TestProbe(t *testing.T) {
	for _, text := range []string{
		"d = {}\nfor i in range(100000):\n    d[lambda: i] = i",
		"d = {}\nfor i in range(100000):\n    d[Stack('s', region='r')] = i",
		"d = {}\nfor i in range(100000):\n    d[concat(i)] = i",
		"d = {}\nfor i in range(100000):\n    d[Ref('a', str(i))] = i",
		"x = 'a'\nfor i in range(60):\n    x = concat(x, x)\ny = x == concat(x, x)\nz = {x: 1}",
		"x = 'a'\nfor i in range(60):\n    x = concat(x, x)\ny = str(x)",
		"x = W('w')\nfor i in range(60):\n    x = Gate('g' + str(i), rules=[{'port': x.out if i == 0 else x}])",
		"def f(n):\n    return f(n+1)\nf(0)",
		"f = lambda n: f(n+1)\nf(0)",
		"f = lambda n: [f(n+1) for i in [1]]\nf(0)",
		"x = " + "1 < len('') < " + strings.Repeat("len('') < ", 300) + "5",
		"x = [" + strings.Repeat("[", 190) + strings.Repeat("]", 190) + "]",
		"x = " + strings.Repeat("1 + ", 900) + "1",
		"x = " + strings.Repeat("a or ", 20000) + "a",
		strings.Repeat("x = 1\n", 100000),
		"def f(" + func() string { s := ""; for i := range 300 { s += "a" + strings.Repeat("b", i) + "," }; return s }() + "): return 1\nx = f(*range(300))",
		"x = [" + strings.Repeat("1,", 300000) + "]",
		"x = [1]\nfor i in range(20):\n    x = [x, x]\nw = W('w', data=x)\nfor i in range(10):\n    y = w.data",
		"m = map(lambda v: v, [1])\nfor i in range(100000):\n    m = map(lambda v: v, m)\nlist(m)",
		"x = ()\nfor i in range(100000):\n    x = (x,)\n{x: 1}",
		"x = []\nfor i in range(100000):\n    x = [x]\nW('w', data=x)",
		"x = ()\nfor i in range(200000):\n    x = (concat(x),)\ny = {x: 1}",
		"x = Rule(port=1)\nd = {x: 1}",
		"e = Config(envs={'d': {}}).env('d')\ne.tags",
		"with Stack('s', region='r') as d['k']: pass",
		"x = [lambda: (yield)]",
		"interpolate('{' * 100000, 1)", "interpolate('{0:' * 1000, 1)",
		"x = {i: i for i in range(300000)}",
		"output('x', float('inf'))",
		"def f():\n    if False:\n        def g(): return 1\n    return g()\nf()",
		"def f(c):\n    if c:\n        def g(a): return 1\n    return g()\nf(1)",
	} {
		start := time.Now()
		_, err := compileNamed(t, text, Options{})
		d := time.Since(start)
		if len(text) > 60 { text = text[:60] }
		s := "ok"
		if err != nil { s = err.Error(); if len(s) > 160 { s = s[:160] } }
		t.Logf("%8s %q: %s", d.Round(time.Millisecond), text, s)
	}
}
