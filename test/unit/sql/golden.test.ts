/**
 * Observed cases of a running engine against the SQL front: what it accepted must parse, what it refused while creating
 * must be refused, unless the refusal needs knowledge of functions, columns or options and is the planner's.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { parseCreate, parseSelect } from '../../../host/sql/parser.js';
import { defineSource } from '../../../host/sql/source-def.js';
import { announceSkip } from '../../support/harness.js';
import { recordedDdl } from '../../support/sql/recorded-ddl.js';

interface GoldenCase {
  id: string;
  ddl: string[] | null;
  sql: string;
  error: { stage: 'create' | 'runtime' } | null;
}

/** Refused by the planner, by what it must know. */
const plannersRefusals: Readonly<Record<string, readonly string[]>> = {
  'functions, their argument counts and kinds': [
    ...numbered(
      'errors.sql',
      33,
      34,
      36,
      37,
      38,
      40,
      41,
      42,
      44,
      45,
      46,
      48,
      49,
      50,
      52,
      53,
      54,
      56,
      57,
      58,
      60,
      61,
      62,
    ),
    ...numbered('errors.sql', 72, 73, 74, 104, 142, 144, 145),
    'scalar.encode.4',
  ],
  'which functions aggregate or return sets': [
    ...numbered('errors.sql', 16, 69, 70, 100, 101, 148),
    'aggregate.groupby.17',
    'sink.omit.5',
    'sink.omit.6',
  ],
  'grouping needs a window': ['errors.sql.68'],
  'SELECT DISTINCT needs a window': ['operators.syntax.15'],
  'names of the output columns': [
    ...numbered('errors.sql', 138, 140),
    ...numbered('jsonpath.alias', 3, 11, 12, 13, 20, 21),
    'aggregate.count.10',
    'join.cond.8',
    'operators.literal.27',
  ],
  'streams and their columns': [...numbered('errors.sql', 28, 96), ...numbered('errors.schema', 2, 7), 'ddl.loose.10'],
  'how LIKE patterns are matched': ['errors.sql.121'],
  'rule options and sinks': [
    ...numbered('errors.option', 1, 2, 4, 5),
    'sink.fields.9',
    ...numbered('sink.template', 29, 30),
    'window.count.14',
  ],
};

/** Refused there, but part of the language here. */
const accepted: readonly string[] = [
  ...numbered('aggregate.filter', 1, 2, 3, 5),
  'ddl.create.19',
  'errors.sql.114',
  ...numbered('join.cond', 3, 4),
  ...numbered('operators.int', 9, 10),
  'operators.in.10',
  ...numbered('operators.literal', 8, 30),
  'operators.where.10',
];

/** Accepted there by mistake: a negative LIMIT, two dots in a row, ORDER BY without a column. */
const refused: readonly string[] = numbered('errors.sql', 14, 133, 146);

function numbered(prefix: string, ...numbers: number[]): string[] {
  return numbers.map((number) => `${prefix}.${number}`);
}

function loadCases(): GoldenCase[] {
  const folder = process.env.HAUMEA_GOLDEN ?? fileURLToPath(new URL('../../../../shared/golden/sql', import.meta.url));
  if (!existsSync(folder)) {
    announceSkip('golden SQL cases', `no folder ${folder}, set HAUMEA_GOLDEN`);
    return [];
  }
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file !== 'functions.json')
    .flatMap((file) => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as GoldenCase[]);
}

/** Returns the message of the refusal, or null. */
function refusalOf({ ddl, sql }: GoldenCase): string | null {
  try {
    for (const statement of ddl ?? []) defineSource(parseCreate(recordedDdl(statement)));
    parseSelect(sql);
    return null;
  } catch (error) {
    assert.instance(error, HaumeaError);
    return error instanceof Error ? error.message : String(error);
  }
}

const cases = loadCases();
const leftToPlanner = new Set([...Object.values(plannersRefusals).flat(), ...accepted]);

test('refuses what was refused', () => {
  for (const golden of cases) {
    if (golden.error?.stage !== 'create' || leftToPlanner.has(golden.id)) continue;
    assert.ok(refusalOf(golden) !== null, `${golden.id} was accepted: ${golden.ddl ?? ''} ${golden.sql}`);
  }
});

test('accepts what was accepted', () => {
  for (const golden of cases) {
    if (golden.error?.stage === 'create' || refused.includes(golden.id)) continue;
    assert.is(refusalOf(golden), null, `${golden.id}: ${golden.ddl ?? ''} ${golden.sql}`);
  }
});

test('the lists of exceptions name only cases that are exceptions', () => {
  for (const golden of cases) {
    if (leftToPlanner.has(golden.id)) assert.is(refusalOf(golden), null, golden.id);
    if (refused.includes(golden.id)) assert.ok(refusalOf(golden) !== null, golden.id);
  }
});

test.run();
