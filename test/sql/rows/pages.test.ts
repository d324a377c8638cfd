/** The examples of the pages about SQL and of functions: what they say that comes out comes out. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { FunctionDefinition } from '../../../host/functions/define.js';
import { definitions } from '../../../host/functions/gen/index.js';
import { type Query, readCases } from '../../support/sql/case-file.js';
import { outcomeOf, pairsOf } from '../../support/sql/case-match.js';
import { type Outcome, openRunner } from '../../support/sql/case-run.js';

const { functionExamples } = (await import(
  new URL('../../../tools/guide/function-examples.mjs', import.meta.url).href
)) as { functionExamples(all: readonly FunctionDefinition[]): ReadonlyMap<string, string> };

const folder = fileURLToPath(new URL('../../../docs/', import.meta.url));
/** Pages with an example in each section, and all others that have examples. */
const complete = ['queries.md', 'recipes.md', 'sql.md'];
const others = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.md') && !complete.includes(name) && textOf(name).includes('\n```case\n'),
);

function textOf(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

const pages = [...complete, ...others].map((name) => {
  const text = textOf(name);
  const blocks = [...text.matchAll(/```case\n(.*?)```/gs)].map(([, block = '']) => block);
  return { name, sections: text.split(/^## /m).slice(1), queries: blocks.flatMap((block) => readCases(name, block)) };
});

/** Examples that need what a case can't give: metadata of a broker, variables of the machine, user code. */
const without = ['get_keyed_state', 'meta', 'mqtt', 'props', 'wasm_run'];
const examples = functionExamples(definitions);
for (const [name, text] of examples)
  pages.push({ name: `function ${name}`, sections: [], queries: readCases(name, text) });

test('each function has an example that runs', () => {
  const lacking = definitions.map(({ name }) => name).filter((name) => !examples.has(name));
  assert.equal(lacking.sort(), without);
});

const runner = openRunner();
const outcomes = new Map<Query, Outcome | Error>();
test.before(async () => {
  const run = async (query: Query) => void outcomes.set(query, await runner.run(query).catch((error: Error) => error));
  await Promise.all(pages.flatMap(({ queries }) => queries.map(run)));
});
test.after(() => runner.close());

for (const { name, sections, queries } of pages) {
  test(`${name} has an example${complete.includes(name) ? ' in each section' : ''}`, () => {
    assert.ok(queries.length > 0);
    if (!complete.includes(name)) return;
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
