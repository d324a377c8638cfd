/** The examples of the pages about SQL: what they say that comes out comes out. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCases } from './case-file.js';
import { outcomeOf, pairsOf } from './case-match.js';
import { openRunner } from './case-run.js';

const runner = openRunner();
test.after(() => runner.close());

for (const name of ['queries.md', 'sql.md']) {
  const page = readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');
  const sections = page.split(/^## /m).slice(1);

  test(`${name} has an example in each section`, () => {
    const without = sections.filter((section) => !section.includes('\n```case\n'));
    assert.equal(
      without.map((section) => section.split('\n', 1)[0]),
      [],
    );
  });

  const blocks = [...page.matchAll(/```case\n(.*?)```/gs)].map(([, text = '']) => text);
  for (const query of blocks.flatMap((block) => readCases(name, block))) {
    test(`${name}: ${query.title}`, async () => {
      const outcome = await runner.run(query);
      const { pairs } = query;
      if (pairs !== undefined) {
        assert.equal(
          pairsOf(pairs, outcome[0] ?? []),
          pairs.map(({ value }) => value),
        );
        return;
      }
      const places = [query.expected, ...query.steps.map(({ expected }) => expected)];
      const asserted = places.filter((place) => place !== undefined);
      assert.ok(asserted.some(({ lines }) => lines.length > 0));
      for (const [i, place] of asserted.entries()) assert.equal(outcomeOf(place, outcome[i] ?? []), place.lines);
    });
  }
}

test.run();
