/** Every function, called wrongly: it is planned, or refused with its name, or with what stands in its place. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { arity } from '../../../host/functions/define.js';
import { functionDefinitions } from '../../../host/functions/registry.js';
import { planRule } from '../../../host/plan/index.js';
import { noFold, ruleOf, streams } from '../../support/engine/planned-rules.js';

/** Why the statement is refused; undefined when it is planned. Anything but a refusal is a failure. */
function refusal(sql: string): string | undefined {
  try {
    planRule(ruleOf(sql), streams, noFold);
    return undefined;
  } catch (error) {
    assert.instance(error, HaumeaError, `${sql}: ${error}`);
    assert.is((error as HaumeaError).kind, 'plan', sql);
    return (error as HaumeaError).message;
  }
}

const place = /\(line 1, column \d+\)/;

test('a wrong number of arguments is refused by name, with the place', () => {
  for (const { name, args } of functionDefinitions()) {
    const { min, max } = arity(args);
    const counts = [min - 1, ...(max === null ? [] : [max + 1, max + 5])].filter((count) => count >= 0);
    for (const count of counts) {
      const reason = refusal(`SELECT ${name}(${Array(count).fill('a').join(', ')}) AS r FROM demo`);
      assert.ok(reason?.includes(name), `${name} of ${count}: ${reason}`);
      assert.match(reason ?? '', place);
    }
  }
});

test('literals of wrong types are planned or refused by name', () => {
  const literals = ['1', '-1', '1.5', '"x"', '"["', '"$[?("', 'true', 'null', '99999999999999999999'];
  for (const { name, args } of functionDefinitions()) {
    const { min, max } = arity(args);
    for (const literal of literals) {
      for (const count of new Set([min, max ?? min + 2])) {
        const reason = refusal(`SELECT ${name}(${Array(count).fill(literal).join(', ')}) AS r FROM demo`);
        if (reason !== undefined) assert.match(reason, new RegExp(`${name}|${place.source}`), `${name}(${literal})`);
      }
    }
  }
});

test('functions where they have no meaning are planned or refused, nothing else', () => {
  for (const { name, args } of functionDefinitions()) {
    const call = `${name}(${Array(arity(args).min).fill('a').join(', ')})`;
    const statements = [
      `SELECT a FROM demo WHERE ${call} > 1`,
      `SELECT a FROM demo GROUP BY ${call}, COUNTWINDOW(2)`,
      `SELECT a FROM demo GROUP BY COUNTWINDOW(2) FILTER (WHERE ${call}) HAVING ${call} > 1`,
      `SELECT a FROM demo GROUP BY SLIDINGWINDOW(ss, 1) OVER (WHEN ${call} > 1)`,
      `SELECT a FROM demo GROUP BY STATEWINDOW(${call}, ${call})`,
      `SELECT sum(${call}) AS s, lag(${call}) AS l FROM demo GROUP BY COUNTWINDOW(2) ORDER BY ${call}`,
      `SELECT lag(a) OVER (PARTITION BY ${call} WHEN ${call}) AS l FROM demo QUALIFY ${call} > 1`,
      `SELECT ${call} OVER (PARTITION BY a) FILTER (WHERE b) AS r FROM demo`,
      `SELECT DISTINCT ${call} AS r, * EXCEPT(a) REPLACE(${call} AS b) FROM demo GROUP BY COUNTWINDOW(2)`,
      `SELECT ${name}(${call}) AS r, x FROM (SELECT ${call} AS x FROM demo) AS d WHERE ${call} LIMIT 1`,
    ];
    for (const sql of statements) refusal(sql);
  }
});

test.run();
