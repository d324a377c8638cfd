/**
 * The statements of the recorded cases: what the engine must refuse at creation is refused, everything else is planned
 * or refused by the name of what cannot run yet. Output columns agree with the recorded rows.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import type { Catalog } from '../../../host/model/engine.js';
import { planRule } from '../../../host/plan/index.js';
import { catalogOf, noFold, ruleOf, streams } from '../../support/engine/planned-rules.js';

const folder = fileURLToPath(new URL('../../../../shared/golden/sql/', import.meta.url));
/** Cases where we differ on purpose, below their reasons. */
const listFile = fileURLToPath(new URL('../../sql/unsupported.json', import.meta.url));
const different = new Set(Object.values(JSON.parse(readFileSync(listFile, 'utf8')) as Record<string, string[]>).flat());
const areas = ['errors', 'operators', 'jsonpath', 'aggregate', 'window', 'sink', 'scalar', 'analytic', 'srf', 'join'];
/** Areas where nothing but unfinished functions may be missing. */
const complete = ['operators', 'jsonpath', 'aggregate', 'window', 'sink'];

interface Case {
  id: string;
  ddl: string[] | null;
  sql: string;
  options: Record<string, unknown>;
  sinkProps: Record<string, unknown>;
  outputs: unknown[];
  error: { stage: string; at: string } | null;
  quirk?: boolean;
}

type Outcome = { fields: string[] } | { refused: string };

function outcomeOf(one: Case): Outcome {
  let catalog: Catalog = streams;
  try {
    // The runner of the cases adds the connector.
    const withType = (ddl: string): string => ddl.replace('KIND="lookup"', 'TYPE="memory", KIND="lookup"');
    if (one.ddl !== null) catalog = catalogOf(...one.ddl.map(withType));
    const { isEventTime = false, sendError = false, sendNilField = false, sendMetaToSink = false } = one.options;
    const flags = { isEventTime, sendError, sendNilField, sendMetaToSink } as Record<string, boolean>;
    const rule = ruleOf(one.sql, flags, [{ type: 'file', props: one.sinkProps }]);
    return { fields: planRule(rule, catalog, noFold).outputFields };
  } catch (error) {
    if (error instanceof HaumeaError) return { refused: error.message };
    throw new Error(`${one.id}: ${one.sql}`, { cause: error });
  }
}

function casesOf(area: string): Case[] {
  return JSON.parse(readFileSync(`${folder}${area}.json`, 'utf8')) as Case[];
}

const isMissing = !existsSync(folder);

for (const area of isMissing ? [] : areas) {
  test(`plans or refuses every ${area} statement as recorded`, () => {
    const counts = { planned: 0, refused: 0, unsupported: 0 };
    const missing = new Map<string, number>();
    for (const one of casesOf(area)) {
      if (one.error?.at === 'ddl') continue;
      const outcome = outcomeOf(one);
      if ('fields' in outcome) {
        counts.planned++;
        if (one.quirk || different.has(one.id)) continue;
        assert.is.not(one.error?.stage, 'create', `${one.id} must be refused: ${one.sql}`);
        checkFields(one, outcome.fields);
        continue;
      }
      const isUnsupported = outcome.refused.includes('not supported yet');
      counts[isUnsupported ? 'unsupported' : 'refused']++;
      if (isUnsupported) missing.set(outcome.refused, (missing.get(outcome.refused) ?? 0) + 1);
      if (one.quirk || different.has(one.id) || one.error?.stage === 'create' || isUnsupported) continue;
      assert.unreachable(`${one.id} is refused: ${one.sql}: ${outcome.refused}`);
    }
    console.log(`${area}:`, JSON.stringify(counts));
    if (complete.includes(area)) {
      for (const [reason, count] of [...missing].sort()) console.log(`  ${count} ${reason}`);
    }
  });
}

/** Rows without a wildcard, or members of objects, have only columns that the plan knows. */
function checkFields(one: Case, fields: string[]): void {
  if (/\*|unnest|extract/.test(one.sql) || 'dataTemplate' in one.sinkProps || 'dataField' in one.sinkProps) return;
  if (one.sinkProps.fields !== undefined || (one.sinkProps.format ?? 'json') !== 'json') return;
  for (const row of one.outputs.flat()) {
    if (typeof row !== 'object' || row === null || '$error' in row || '$text' in row) continue;
    for (const name of Object.keys(row)) assert.ok(fields.includes(name), `${one.id}: no column ${name} in ${fields}`);
  }
}

test.run();
