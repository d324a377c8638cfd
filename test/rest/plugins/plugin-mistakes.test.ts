/** `haumea plugin` with other rows, other statements, and mistakes of all kinds. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

const folder = temporaryFolder();

const commands = new Commands(folder);

await commands.done('plugin new times_as');
await commands.done('plugin build times_as');

test('other rows and another statement can be tried; what is not as expected is told', async () => {
  const own = join(folder, 'times_as');
  writeFileSync(join(folder, 'other.jsonl'), '{"temp":"warm"}\n{"temp":1}');
  const other = await commands.done(
    'plugin test',
    own,
    '--rows',
    join(folder, 'other.jsonl'),
    '--sql',
    'SELECT times_as(temp, 5) AS r FROM input',
  );
  assert.is(other.out, 'function times_as: argument 1 is no number for f64\n{"r":5}\n');
  appendFileSync(join(own, 'expected.jsonl'), '{"device":"d"}\n');
  const wrong = await commands.run('plugin test', own);
  assert.is(wrong.code, 1);
  assert.match(wrong.err, /row 4 is missing, expected\.jsonl has \{"device":"d"\}/);
  for (const [sql, message] of [
    ['SELECT times_as(temp) AS r FROM input', /takes 2 arguments, not 1/],
    ['SELECT nobody(temp) AS r FROM input', /unknown function nobody/],
    ['SELECT temp FROM elsewhere', /elsewhere/],
    ['SELEC', /SELEC/],
  ] as const) {
    const refused = await commands.run('plugin test', own, '--sql', sql);
    assert.is(refused.code, 1, sql);
    assert.match(refused.err, message);
  }
});

test('mistakes are told with what helps', async () => {
  const own = join(folder, 'times_as');
  const project = JSON.parse(readFileSync(join(own, 'plugin.json'), 'utf8'));
  const change = (more: object) => writeFileSync(join(own, 'plugin.json'), JSON.stringify({ ...project, ...more }));
  const cases: [string, number, RegExp, (() => void)?][] = [
    ['plugin new times_as', 2, /is there already/],
    ['plugin new abs', 2, /abs is a built-in function/],
    ['plugin new my-plugin', 2, /letters, digits and _ only/],
    ['plugin new x --lang cobol', 2, /--lang must be one of as, rust, c, js/],
    ['plugin test nowhere', 2, /plugin\.json: .*haumea plugin new NAME makes a plugin/],
    ['plugin test times_as', 2, /haumea plugin build makes it/, () => rmSync(join(own, 'build'), { recursive: true })],
    ['plugin build times_as', 1, /ERROR|error/, () => appendFileSync(join(own, 'src/index.ts'), 'export function (')],
    ['plugin build times_as', 1, /exit code 127/, () => change({ build: 'no-such-compiler' })],
    ['plugin build times_as', 2, /either module, script or portable/, () => change({ module: undefined })],
    ['plugin build times_as', 2, /modul is not known, did you mean module/, () => change({ modul: 'x' })],
    ['plugin build times_as', 1, /no WebAssembly module/, () => change({ build: undefined, module: 'README.md' })],
  ];
  for (const [args, code, message, prepare] of cases) {
    prepare?.();
    const ended = await commands.run(args);
    assert.is(ended.code, code, `${args}: ${ended.err}`);
    assert.match(ended.err, message);
  }
});

test.run();
