import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { arity, perRow } from '../../../host/functions/define.js';
import { definitions } from '../../../host/functions/gen/index.js';
import { findFunction, functionNames, resolveFunction } from '../../../host/functions/registry.js';
import type { HostColumns } from '../../../kernels/api.js';

const recorded = fileURLToPath(new URL('../../../../shared/golden/sql/functions.json', import.meta.url));

interface RecordedFunction {
  name: string;
  minArgs: number;
  maxArgs: number | null;
}

test('knows every recorded function with its number of arguments', () => {
  if (!existsSync(recorded)) return;
  const functions = JSON.parse(readFileSync(recorded, 'utf8')) as RecordedFunction[];
  const known = functionNames();
  for (const { name, minArgs, maxArgs } of functions) {
    assert.ok(known.includes(name), name);
    const definition = findFunction(name);
    if (definition === undefined) throw new Error(`${name} cannot run`);
    const { min, max } = arity(definition.args);
    assert.is(min, minArgs, name);
    // Optional arguments beyond the recorded ones are allowed.
    if (max !== null && maxArgs !== null) assert.ok(max >= maxArgs, name);
  }
});

test('gives each name to one function', () => {
  const names = definitions.flatMap((definition) => [definition.name, ...(definition.aliases ?? [])]);
  assert.is(new Set(names).size, names.length);
});

test('documents every function', () => {
  for (const { name, doc, example } of definitions) {
    assert.ok(doc.endsWith('.'), name);
    assert.match(example, new RegExp(`\\b${name}\\(`), name);
  }
});

test('finds functions in any letter case', () => {
  assert.is(resolveFunction('CouNT', [undefined]), findFunction('count'));
});

test('runs a host function row by row', () => {
  const rows: unknown[][] = [
    [1, 2],
    [null, 2],
    [3, undefined],
    ['x', 1],
  ];
  const results: unknown[] = [];
  const columns: HostColumns = {
    count: rows.length,
    argCount: 2,
    get: (i, k) => rows[k]?.[i],
    set: (k, value) => {
      results[k] = value;
    },
    fail: (k, message) => {
      results[k] = `error: ${message}`;
    },
  };
  const add = (a: unknown, b: unknown): unknown => {
    if (typeof a === 'string') throw new Error('no number');
    return Number(a ?? 0) + Number(b ?? 0);
  };
  perRow('propagate', add)(columns);
  assert.equal(results, [3, null, null, 'error: no number']);
  perRow('handles', add)(columns);
  assert.equal(results, [3, 2, 3, 'error: no number']);
});

test.run();
