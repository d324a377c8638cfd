/** What sources get of the definitions of streams and tables. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sourceSpec } from '../../../../host/run/props/resolve.js';
import { catalogOf } from '../../../support/engine/planned-rules.js';

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

test(
  'properties are resolved once for many rules, and anew after a change of keys, or where the catalog does not ' +
    'tell of changes',
  () => {
    let asked = 0;
    let version = 1;
    let keys = { server: 'tcp://one:1883' };
    const catalog = {
      ...catalogOf('CREATE STREAM x () WITH (DATASOURCE="x", TYPE="mqtt", CONF_KEY="k", FORMAT="json")'),
      confKey: () => {
        asked++;
        return keys;
      },
      version: (): number => version,
    };
    const resolved = () => {
      const before = asked;
      const { server } = sourceSpec(catalog.source('x')!, catalog).props;
      return [server, asked > before];
    };
    assert.equal(resolved(), ['tcp://one:1883', true]);
    assert.equal(resolved(), ['tcp://one:1883', false]);
    keys = { server: 'tcp://two:1883' };
    version = 2;
    assert.equal(resolved(), ['tcp://two:1883', true]);
    keys = { server: 'tcp://three:1883' };
    const { version: _told, ...silent } = catalog;
    assert.is(sourceSpec(silent.source('x')!, silent).props.server, 'tcp://three:1883');
  },
);

test('what a stream names outside the store is looked at again: a refusal is not kept', () => {
  let isThere = false;
  const catalog = {
    ...catalogOf('CREATE STREAM x () WITH (DATASOURCE="x", TYPE="mqtt", CONF_KEY="k", FORMAT="json")'),
    confKey: () => (isThere ? { server: 'tcp://one:1883' } : undefined),
    version: () => 1,
  };
  assert.throws(() => sourceSpec(catalog.source('x')!, catalog), /configuration key k of source mqtt not found/);
  isThere = true;
  assert.is(sourceSpec(catalog.source('x')!, catalog).props.server, 'tcp://one:1883');
});

test.run();
