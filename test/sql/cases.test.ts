/**
 * The case files of `cases/`: streams, rows, a statement, what comes out. `cases/README.md` says how they are written.
 *
 *     npx tsx test/sql/cases.test.ts [WORD ...]                    the files whose path contains one of the words
 *     HAUMEA_CASES=update npx tsx test/sql/cases.test.ts [WORD …]  writes what came out into the files, for review
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CaseError, type Query, type Renewal, readCases, renew } from '../support/sql/case-file.js';
import { outcomeOf, pairsOf } from '../support/sql/case-match.js';
import { type Outcome, openRunner, where } from '../support/sql/case-run.js';

const folder = fileURLToPath(new URL('./cases', import.meta.url));
const isUpdate = process.env.HAUMEA_CASES === 'update';
const words = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.case') && (words.length === 0 || words.some((word) => name.includes(word))))
  .sort();

const queries: Query[] = [];
for (const file of files) {
  try {
    queries.push(...readCases(file, readFileSync(join(folder, file), 'utf8')));
  } catch (error) {
    test(file, () => {
      throw error;
    });
  }
}

const runner = openRunner();
const outcomes = new Map<Query, Outcome | Error>();
test.before(async () => {
  const run = async (query: Query) => void outcomes.set(query, await runner.run(query).catch((error: Error) => error));
  await Promise.all(queries.map(run));
});
test.after(() => runner.close());

const renewals = new Map<string, Renewal[]>();
const byContent = new Map<string, Query>();
for (const query of queries) {
  test(where(query), () => {
    const { file, title: _title, line: _line, definitions, rows, expected, steps, pairs, ...rest } = query;
    const inputs = [...definitions].map(([name, text]) => [name, text, rows.get(name)]);
    const key = JSON.stringify([rest, inputs, steps.map(({ stream, at, payloads }) => [stream, at, payloads])]);
    const twin = byContent.get(key);
    if (twin !== undefined) throw new CaseError(`${where(query)} is the same as ${where(twin)}`);
    byContent.set(key, query);
    const outcome = outcomes.get(query);
    if (outcome instanceof Error || outcome === undefined) throw outcome;
    const list = renewals.get(file) ?? [];
    renewals.set(file, list);
    if (pairs !== undefined) {
      const got = pairsOf(pairs, outcome[0] ?? []);
      pairs.forEach((pair, i) => {
        if (got[i] !== pair.value) list.push({ pair: pair.line, payload: pair.payload, value: got[i]! });
      });
      check(
        query,
        query.line,
        pairs.map(({ payload }, i) => `${payload} => ${got[i]}`),
        pairs.map(({ payload, value }) => `${payload} => ${value}`),
      );
      return;
    }
    const places = [expected, ...steps.map((step) => step.expected)].filter((place) => place !== undefined);
    // What is refused comes before all that was to happen.
    places.forEach((place, i) => {
      const got = outcomeOf(place, outcome[i] ?? []);
      if (got.join('\n') !== place.lines.join('\n')) list.push({ after: place.line, lines: got });
      check(query, place.line, got, place.lines);
    });
  });
}

function check(query: Query, line: number, got: readonly string[], wanted: readonly string[]): void {
  if (isUpdate) return;
  const message = `${query.file}:${line}\n${query.sql}`;
  if (wanted.length === 0 || wanted.some((text) => text.endsWith(' => '))) {
    throw new CaseError(`${message}\nNothing is asserted. What came out:\n${got.join('\n')}`);
  }
  try {
    assert.fixture(got.join('\n'), wanted.join('\n'), message);
  } catch (error) {
    throw Object.assign(error as Error, { stack: '' });
  }
}

test('case files are there', () => {
  assert.ok(files.length > 0, `no case file matches ${words.join(' ')}`);
});

test('what came out is in the files, where that was asked for', () => {
  for (const [file, list] of renewals) {
    if (!isUpdate || list.length === 0) continue;
    const path = join(folder, file);
    writeFileSync(path, renew(readFileSync(path, 'utf8'), list));
    console.log(`${file}: ${list.length} renewed`);
  }
});

test.run();
