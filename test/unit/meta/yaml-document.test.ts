/** YAML documents of imports: what is there twice, and what takes time. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readYaml } from '../../../host/meta/transfer/yaml.js';

const streamsOf = (names: readonly string[]) =>
  `streams:\n${names.map((name) => `  ${name}:\n    sql: CREATE STREAM ${name} ()\n`).join('')}`;

const reasonOf = (text: string) =>
  readYaml(text).then(
    () => 'taken',
    (error: unknown) => (error as Error).message,
  );

test('a name that is there twice in one map is refused, in two maps it is taken', async () => {
  assert.match(await reasonOf(streamsOf(['a', 'b', 'a'])), /the content is no YAML: a is there twice in one map/);
  assert.match(await reasonOf('rules: {}\nrules: {}\n'), /rules is there twice in one map/);
  assert.match(await reasonOf('rules:\n  r:\n    id: r\n    id: s\n'), /id is there twice in one map/);
  assert.is(await reasonOf('rules:\n  r:\n    id: r\n  s:\n    id: s\n'), 'taken');
});

test('what is no YAML, or refers to itself without measure, is refused', async () => {
  assert.match(await reasonOf('rules: [\n'), /the content is no YAML/);
  assert.match(await reasonOf('--- 1\n--- 2\n'), /the content is no YAML/);
  const names = 'bcdefghij'.split('');
  const bomb = names.map((name, i) => `${name}: &${name} [${`*${'abcdefghi'[i]},`.repeat(9)}]`).join('\n');
  assert.match(
    await reasonOf(`a: &a [x]\n${bomb}\n`),
    /the content has more than 500000 keys and values when its aliases are written out at line 7/,
  );
});

test('kinds that JSON does not have are refused by name: their content would be lost without a word', async () => {
  for (const value of ['!!set {a}', '!!omap [a: 1]', '!!js/undefined {a: 1}', '!mine {a: 1}']) {
    assert.match(
      await reasonOf(`streams: ${value}\n`),
      /the content has the tag .*, which JSON has nothing for at line 1, column \d+$/,
    );
  }
  assert.match(await reasonOf('rules:\n  r: !!binary "AAAA"\n'), /the tag tag:yaml.org,2002:binary, .* at line 2/);
  assert.is(await reasonOf('rules: !!map\n  r:\n    id: !!str 5\n    n: !!int 5\n'), 'taken');
});

test('more line ends and signs than the largest document has are refused before anything is made of them', async () => {
  const before = performance.now();
  const reason = await reasonOf(`rules: {}${'\n'.repeat(8_000_000)}`);
  assert.is(reason, 'the content has more than 3000000 words, signs and line ends');
  // A minute where a minute is the bound.
  assert.ok(performance.now() - before < 20_000);
});

test('tens of thousands of names take no longer for each than a few', async () => {
  const cost = async (count: number) => {
    const text = streamsOf(Array.from({ length: count }, (_, i) => `s${i}`));
    const before = process.cpuUsage();
    assert.is((await readYaml(text)).get('streams')?.size, count);
    const { user } = process.cpuUsage(before);
    return user / count;
  };
  await cost(1000);
  const few = await cost(2000);
  const many = await cost(40_000);
  assert.ok(many < few * 5, `${many.toFixed(0)} µs for each, ${few.toFixed(0)} µs with few`);
});

test.run();
