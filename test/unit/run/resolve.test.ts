/** What sources get of the definitions of streams and tables. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sourceSpec } from '../../../host/run/resolve.js';
import { catalogOf } from '../plan/rules.js';

const isShared = (statement: string): boolean => {
  const catalog = catalogOf(statement);
  return sourceSpec(catalog.source('x')!, catalog).isShared;
};

test('rules share the source of a shared stream or table, but each reads the file of a table from its start', () => {
  const options = 'DATASOURCE="x", FORMAT="json", SHARED="true"';
  assert.is(isShared(`CREATE STREAM x () WITH (${options}, TYPE="file")`), true);
  assert.is(isShared(`CREATE TABLE x () WITH (${options}, TYPE="memory")`), true);
  assert.is(isShared(`CREATE TABLE x () WITH (${options})`), false);
  assert.is(isShared(`CREATE TABLE x () WITH (${options}, EXTRA="{\\"interval\\":1000}")`), true);
});

test.run();
