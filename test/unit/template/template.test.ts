import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compileTemplate } from '../../../host/template/compile.js';

const row = '{"a":1,"b":"xy","f":2.5,"l":[3,1,2],"o":{"k":"v","a":null},"n":null}';

const outputs: [template: string, text: string, json?: string][] = [
  ['plain {{.a}} text', 'plain 1 text'],
  ['{{.o.k}} {{.missing}} {{.n}} {{.missing.x}}', 'v <no value> <no value> <no value>'],
  ['{{.l}} {{.o}}', '[3 1 2] map[a:<nil> k:v]'],
  ['{{index . 0 "f"}}', '7', '[{"f":7}]'],
  ['{{- /* note */ -}}  a  {{- .a -}}  b', 'a1b'],
  ['{{if .n}}x{{else if eq .a 1}}y{{else}}z{{end}}', 'y'],
  ['{{if .n}}x{{else}}{{with .o}}{{.k}}{{end}}{{end}}', 'v'],
  ['{{range $i, $v := .l}}{{if $i}},{{end}}{{$v}}{{end}}', '3,1,2'],
  ['{{range $k, $v := .o}}{{$k}}={{$v}};{{end}}{{range .n}}x{{else}}none{{end}}', 'a=<no value>;k=v;none'],
  ['{{range .l}}{{if eq . 1}}{{continue}}{{end}}{{.}}{{if eq . 2}}{{break}}{{end}}{{end}}', '32'],
  ['{{$s := 0}}{{range .l}}{{$s = add $s .}}{{end}}{{$s}} {{$.b}}', '6 xy'],
  ['{{define "t"}}<{{.}}>{{end}}{{template "t" .b}}{{block "u" .a}}[{{.}}]{{end}}', '<xy>[1]'],
  ['{{.b | upper | printf "%s-%03d"}}', 'XY-%!d(MISSING)'],
  ['{{printf "%d|%5.2f|%q|%v|%-4s|%x" 3 .f .b .l "a" .b}}', '3| 2.50|"xy"|[3 1 2]|a   |7879'],
  ['{{and .a .b}} {{or .n .b}} {{not .n}}', 'xy xy true'],
  ['{{eq .a 1.0}} {{eq .a 2 1}} {{ne .b "x"}} {{lt .a .f}} {{ge .f 2.5}}', 'true true true true true'],
  ['{{len .b}}{{len .l}} {{slice .b 1}} {{(index .l 0)}}', '23 y 3'],
  ['{{html "<a>"}}{{js "\'<"}}{{urlquery "a b&"}}', "&lt;a&gt;\\'\\u003Ca+b%26"],
  ['{{print 1 2 .b 3}} {{println .b .a}}', '1 2xy3 xy 1\n'],
  ['{{json .}}', '{"a":1,"b":"xy","f":2.5,"l":[3,1,2],"n":null,"o":{"a":null,"k":"v"}}'],
  ['{{toJson "<&>"}}{{toRawJson "<&>"}}', '"\\u003c\\u0026\\u003e""<&>"'],
  ['{{base64 .b}} {{b64enc .b}} {{b64dec "eHk="}}', 'eHk= eHk= xy'],
  ['{{.n | default "d"}} {{coalesce .n .b}} {{ternary "T" "F" (eq .a 1)}} {{empty .n}}', 'd xy T true'],
  ['{{join "," .l}} {{quote .b}} {{.b | replace "x" "yy"}} {{trimPrefix "x" .b}}', '3,1,2 "xy" yyy y'],
  [
    '{{add 1 2 3}} {{sub 5 2}} {{mul 3 4}} {{div 7 2}} {{mod 7 2}} {{max 1 3 2}} {{round 2.346 2}}',
    '6 3 12 3 1 3 2.35',
  ],
  ['{{int .f}} {{floor .f}} {{ceil .f}} {{int64 "42"}}', '2 2 3 42'],
  [
    '{{(dict "k" 1).k}} {{keys .o}} {{first .l}}{{last .l}} {{reverse .l}} {{uniq (list 1 1 2)}}',
    '1 [a k] 32 [2 1 3] [1 2]',
  ],
  ['{{sha256sum "a"}}', 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'],
  ['{{dateInZone "2006-01-02 15:04:05.000 Mon Jan" 1700000000 "UTC"}}', '2023-11-14 22:13:20.000 Tue Nov'],
  ['{{.x}} {{.y}} {{.z}}', '9007199254740993 1e-05 1.2345675e+06', '{"x":9007199254740993,"y":0.00001,"z":1234567.5}'],
  ['{{.x}} {{json .}}', '-9223372036854775808 {"x":-9223372036854775808}', '{"x":-9223372036854775808}'],
  ['{{`raw\\n`}}{{"q\\u00e9\\n"}}{{\'a\'}} {{0x1F}} {{1_000}}', 'raw\\nqé\n97 31 1000'],
  ['{{.constructor}} {{.__proto__}}', '<no value> <no value>'],
];

for (const [template, text, json = row] of outputs) {
  test(`renders ${template}`, () => assert.is(compileTemplate(template).render(json), text));
}

const refused: [template: string, reason: RegExp][] = [
  ['{{.a', /template: sink:1: unclosed action/],
  ['a\nb {{nofunc .a}}', /template: sink:2: function "nofunc" not defined/],
  ['{{if}}x{{end}}', /sink:1: missing value for if/],
  ['{{$x}}', /undefined variable "\$x"/],
  ['{{end}}', /unexpected \{\{end\}\}/],
  ['{{range .l}}', /unexpected EOF/],
  ['{{break}}', /outside \{\{range\}\}/],
  ['{{"a}}', /unterminated quoted string/],
  ['{{/* x }}', /unclosed comment/],
  ['{{.a } c', /unexpected "}" in operand/],
  ['{{upper}}', /wrong number of args for upper: want 1 got 0/],
  ['{{if .a}}'.repeat(5000), /nested deeper/],
  [`{{${'('.repeat(5000)} }}`, /nested deeper/],
];

for (const [template, reason] of refused) {
  test(`refuses ${template.slice(0, 40)}`, () => assert.throws(() => compileTemplate(template), reason));
}

const failing: [template: string, reason: RegExp][] = [
  ['{{.n.x}}', /nil pointer evaluating interface \{\}\.x/],
  ['{{.b.x}}', /can't evaluate field x in type string/],
  ['{{index .l 7}}', /error calling index: index out of range: 7/],
  ['{{eq .a .b}}', /incompatible types for comparison/],
  ['{{upper .a}}', /expected string/],
  ['{{div 1 0}}', /divide by zero/],
  ['{{template "x"}}', /template "x" not defined/],
  ['{{fail "no"}}', /error calling fail: no/],
  ['{{define "t"}}{{template "t"}}{{end}}{{template "t"}}', /call one another deeper/],
  ['{{range until 100000}}{{range until 100000}}{{end}}{{end}}', /too many steps/],
  ['{{repeat 2000000000 "x"}}', /too many steps|longer than/],
  ['{{$x := "aaaaaaaa"}}{{range until 60}}{{$x = print $x $x}}{{end}}', /longer than|too many steps/],
  ['{{$x := list 1}}{{range until 60}}{{$x = list $x $x}}{{end}}{{$x}}', /too many steps/],
  ['{{$x := list 1}}{{range until 60}}{{$x = concat $x $x}}{{end}}', /too many steps/],
  ['{{printf "%999999999d" 1}}', /bad width/],
  ['{{$x := repeat 60000 "a"}}{{range until 150000}}{{$y := contains "ab" $x}}{{end}}', /too many steps/],
  ['{{$x := until 50000}}{{range until 150000}}{{$y := has 5.5 $x}}{{end}}', /too many steps/],
  ['{{range until 200000}}{{"0123456789"}}{{repeat 100 "x"}}{{end}}', /longer than|too many steps/],
];

for (const [template, reason] of failing) {
  test(`fails without harm: ${template}`, () => {
    assert.throws(() => compileTemplate(template).render(row), reason);
  });
}

test.run();
