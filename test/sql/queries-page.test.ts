/** The examples of docs/queries.md: what it says that comes out comes out. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCases } from './case-file.js';
import { outcomeOf } from './case-match.js';
import { openRunner } from './case-run.js';

const page = readFileSync(fileURLToPath(new URL('../../docs/queries.md', import.meta.url)), 'utf8');
const blocks = [...page.matchAll(/```case\n(.*?)```/gs)].map(([, text = '']) => text);

const runner = openRunner();
test.after(() => runner.close());

test('there is an example for each section', () => {
  assert.is(blocks.length, [...page.matchAll(/^## /gm)].length);
});

for (const query of blocks.flatMap((block) => readCases('docs/queries.md', block))) {
  test(query.title, async () => {
    const { expected } = query;
    assert.ok(expected !== undefined);
    const [lines = []] = await runner.run(query);
    assert.equal(outcomeOf(expected, lines), expected.lines);
  });
}

test.run();
