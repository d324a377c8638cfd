/** Properties of the environment in SQL and in data templates. */
process.env.KUIPER_PROPS_VIN = 'WVW 1';
process.env.KUIPER_PROPS_Empty = '';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { HostColumns } from '../../../kernels/api.js';

const { userProperties, userProperty } = await import('../../../host/base/config/user-props.js');
const { callHost, hostNumber, resolveFunction } = await import('../../../host/functions/registry.js');
const { compileTemplate } = await import('../../../host/template/compile.js');

test('variables with the prefix are properties, named in lower case', () => {
  const env = { KUIPER_PROPS_VIN: 'x', KUIPER_PROPS_Own_Name: 'y', KUIPER__BASIC__DEBUG: 'true', PROPS_Z: 'z' };
  assert.equal(
    [...userProperties(env)],
    [
      ['vin', 'x'],
      ['own_name', 'y'],
    ],
  );
  assert.is(userProperty('vin'), 'WVW 1');
  assert.is(userProperty('empty'), '');
  assert.is(userProperty('VIN'), undefined);
  assert.is(userProperty('__proto__'), undefined);
});

test('et is the time, snowflake a number that grows', () => {
  assert.ok(Math.abs(Number(userProperty('et')) - Date.now()) < 1000);
  const ids = Array.from({ length: 10_000 }, () => BigInt(userProperty('snowflake') ?? 0));
  ids.reduce((before, id) => {
    assert.ok(id > before, `${id} after ${before}`);
    return id;
  });
});

test('a data template takes them by prop, and the name of one that is not set', () => {
  assert.is(compileTemplate('{"vin":"{{prop "vin"}}","a":{{.a}}}').render('{"a":1}'), '{"vin":"WVW 1","a":1}');
  assert.is(compileTemplate('{{prop "nobody"}}').render('{}'), 'nobody');
});

test('props() in SQL: a row with the name of a property that is not set fails', () => {
  const names = ['vin', 'nobody', null, 7];
  const results: unknown[] = [];
  const columns: HostColumns = {
    count: names.length,
    argCount: 1,
    get: (_i, k) => names[k],
    set: (k, value) => (results[k] = value),
    fail: (k, message) => (results[k] = `failed: ${message}`),
  };
  callHost(hostNumber(resolveFunction('props', [undefined])), columns);
  assert.equal(results, [
    'WVW 1',
    'failed: property nobody is not set',
    null,
    'failed: invalid input 7: must be property name of string type',
  ]);
});

test.run();
