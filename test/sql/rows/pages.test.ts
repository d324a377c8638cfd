/** The examples of the pages about SQL: what they say that comes out comes out. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Query, readCases } from '../../support/sql/case-file.js';
import { outcomeOf, pairsOf } from '../../support/sql/case-match.js';
import { type Outcome, openRunner } from '../../support/sql/case-run.js';

const pages = ['queries.md', 'recipes.md', 'sql.md'].map((name) => {
  const text = readFileSync(fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url)), 'utf8');
  const blocks = [...text.matchAll(/```case\n(.*?)```/gs)].map(([, block = '']) => block);
  return { name, sections: text.split(/^## /m).slice(1), queries: blocks.flatMap((block) => readCases(name, block)) };
});

const runner = openRunner();
const outcomes = new Map<Query, Outcome | Error>();
test.before(async () => {
  const run = async (query: Query) => void outcomes.set(query, await runner.run(query).catch((error: Error) => error));
  await Promise.all(pages.flatMap(({ queries }) => queries.map(run)));
});
test.after(() => runner.close());

for (const { name, sections, queries } of pages) {
  test(`${name} has an example in each section`, () => {
    const without = sections.filter((section) => !section.includes('\n```case\n'));
    assert.equal(
      without.map((section) => section.split('\n', 1)[0]),
      [],
    );
  });

  for (const query of queries) {
    test(`${name}: ${query.title}`, () => {
      const outcome = outcomes.get(query);
      if (outcome instanceof Error || outcome === undefined) throw outcome;
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
