/** What the console makes of values: columns guessed from rows, differences of an import. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { laterVersion } from '../../host/console/pages/rules/one/later-version.js';
import { declared, guessed } from '../../host/console/pages/sources/guess.js';
import { differencesOf, linesOf } from '../../host/sdk/differences.js';

test('columns have the types that take all values seen', () => {
  const rows = [
    { a: 1, b: 1, on: true, 'my tag': 'x', list: [1, 2], deep: { x: 1 }, none: null },
    { a: 2, b: 1.5, on: null, 'my tag': 7, list: [0.5], deep: { y: 'text' }, late: [] },
  ];
  const columns = guessed(rows);
  assert.equal(
    columns.map(({ name, type, seen }) => [name, type, seen]),
    [
      ['a', 'BIGINT', 2],
      ['b', 'FLOAT', 2],
      ['on', 'BOOLEAN', 1],
      ['my tag', 'STRING', 2],
      ['list', 'ARRAY(FLOAT)', 2],
      ['deep', 'STRUCT(x BIGINT, y STRING)', 2],
      ['none', 'STRING', 0],
      ['late', 'ARRAY(STRING)', 1],
    ],
  );
  assert.is(
    declared('demo', columns.slice(0, 4), { type: 'mqtt', confKey: 'hall', shared: true, key: '' }),
    'CREATE STREAM demo (a BIGINT, b FLOAT, `on` BOOLEAN, `my tag` STRING) ' +
      'WITH (TYPE="mqtt", CONF_KEY="hall", SHARED="true")',
  );
});

const rule = (sql: string, more = {}) =>
  JSON.stringify({ id: 'r', sql, actions: [{ mqtt: { password: 'p' } }], ...more });
const masked = (sql: string) =>
  JSON.stringify({ triggered: true, actions: [{ mqtt: { password: '******' } }], sql, id: 'r' });

test('an import is compared item by item; what a mask of the server hides may be another secret', () => {
  const now = {
    streams: { s: 'CREATE STREAM s () WITH (TYPE="mqtt")', gone: 'CREATE STREAM gone () WITH (TYPE="mqtt")' },
    rules: { r: masked('SELECT 1'), q: masked('SELECT 1'), m: masked('SELECT 1') },
    sourceConfig: { mqtt: JSON.stringify({ hall: { password: '******' }, yard: { qos: 0 } }) },
    uploads: null,
  };
  const wanted = {
    streams: { s: 'CREATE STREAM s () WITH (TYPE="mqtt")\n', more: 'CREATE STREAM more () WITH (TYPE="mqtt")' },
    rules: { r: rule('SELECT 1'), q: rule('SELECT 2'), m: masked('SELECT 1') },
    sourceConfig: { mqtt: JSON.stringify({ hall: { password: 'secret' }, yard: { qos: 1 } }) },
  };
  const kinds = (isPartial: boolean) =>
    Object.fromEntries(differencesOf(now, wanted, isPartial).map(({ name, kind }) => [name, kind]));
  const common = { s: 'same', more: 'new', r: 'changed', q: 'changed', m: 'same' };
  const keys = { 'sources.mqtt.hall': 'changed', 'sources.mqtt.yard': 'changed' };
  assert.equal(kinds(true), { ...common, ...keys });
  assert.equal(kinds(false), { ...common, ...keys, gone: 'removed' });
  // As YAML has the same things.
  const yaml = {
    streams: { s: { sql: now.streams.s } },
    rules: { r: { sql: 'SELECT 1', actions: [{ mqtt: { password: '******' } }] } },
    sourceConfig: { 'sources.mqtt.yard': { qos: 0 } },
  };
  assert.equal(
    differencesOf(now, yaml, true).map(({ kind }) => kind),
    ['same', 'same', 'same'],
  );
});

test('a rule that is put back gets a version that is greater as a text', () => {
  const cases = { 1: '2', 9: '9.1', '1.09': '1.10', '1.99': '1.99.1', 'v1-a': 'v1-a.1', '0099': '0100' };
  for (const [version, later] of Object.entries(cases)) {
    assert.is(laterVersion(version), later);
    assert.ok(later > version);
  }
  assert.is(laterVersion(undefined), undefined);
});

test('lines of two texts show what they have in common once', () => {
  assert.equal(
    linesOf('a\nb\nc', 'a\nx\nc\nd').map(({ sign, text }) => sign + text),
    [' a', '-b', '+x', ' c', '+d'],
  );
  assert.equal(linesOf('', 'a'), [{ sign: '+', text: 'a' }]);
});

test.run();
