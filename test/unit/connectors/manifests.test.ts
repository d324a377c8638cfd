/** What the engine and the catalogue learn of connectors from their manifests. */
import { readdirSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { field } from '../../../host/base/fields/field.js';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { connectionKey } from '../../../host/connectors/connection-key.js';
import { defineConnector } from '../../../host/connectors/define.js';
import {
  allConnectors,
  connectionTypes,
  connectorFor,
  connectorNames,
  connectorOf,
  defaultType,
  loadConnector,
  lookups,
  sinkForm,
  sourceKeys,
} from '../../../host/connectors/index.js';
import type { SinkContext } from '../../../host/connectors/running.js';

const folder = new URL('../../../host/connectors/', import.meta.url);
/** Folders with what is made of the connectors, what several of them share, and those that plugins bring. */
const beside = new Set(['gen', 'messages', 'portable', 'servers', 'topics']);

test('every folder is a connector of its name', () => {
  const folders = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !beside.has(entry.name))
    .map(({ name }) => name)
    .sort();
  assert.equal(
    allConnectors().map(({ name }) => name),
    folders,
  );
});

test('every part brings what does the work', async () => {
  for (const { name, source, sink, connection } of allConnectors()) {
    assert.ok(source ?? sink ?? connection, `${name} is neither source nor sink nor a connection`);
    await source?.load();
    await sink?.load();
  }
});

test('users are offered what is not internal', () => {
  assert.ok(connectorNames('source').includes('httppush'));
  assert.not(connectorNames('sink').includes('httppush'));
  assert.ok(connectorNames('sink').includes('nop'));
  assert.is(connectorOf('ruletest')?.isInternal, true);
  assert.not(connectorNames('sink').includes('ruletest'));
});

test('a type that does not play the part is refused, with the one that was meant', async () => {
  const refusal = (reason: RegExp) => (error: unknown) =>
    error instanceof HaumeaError && error.kind === 'unknownConnector' && reason.test(error.message);
  assert.throws(() => connectorFor('sink', 'mqt'), refusal(/^sink mqt not found, did you mean mqtt\?$/));
  assert.throws(() => connectorFor('source', 'log'), refusal(/^source log not found, there are .*file, .*mqtt/));
  await loadConnector('sink', 'simulator').then(
    () => assert.unreachable(),
    (error) => assert.ok(refusal(/simulator/)(error)),
  );
});

test('sinks say what they take, by the action where it matters', () => {
  assert.equal(sinkForm('file'), { takes: 'messages', framing: 'lines' });
  assert.equal(sinkForm('memory').takes, 'rows');
  assert.equal(
    ['true', true, false].map((log) => sinkForm('nop', { log }).takes),
    ['messages', 'messages', 'nothing'],
  );
  assert.throws(() => sinkForm('nop', { log: 'perhaps' }), /nop sink: property log must be true or false/);
});

test('statements get their defaults from manifests', () => {
  assert.equal([defaultType('stream'), defaultType('table')], ['mqtt', 'file']);
  assert.is(connectorOf('file')?.source?.retainedRows, 9999);
  assert.match(lookups().get('memory')?.refusal?.('topic', null) ?? '', /KEY is required/);
  assert.match(lookups().get('redis')?.refusal?.('16', 'k') ?? '', /the number of a Redis database/);
  assert.not(lookups().has('mqtt'));
  assert.is(sourceKeys().get('mqtt')?.keysName, 'mqtt_source');
});

test('types of connections are those of connectors with another side', () => {
  const types = connectionTypes();
  for (const name of ['edgex', 'httppush', 'mqtt', 'sql']) assert.ok(types.includes(name), name);
  for (const name of ['file', 'memory', 'nop']) assert.not(types.includes(name), name);
});

test('equal properties make the same connection, those of the action aside', () => {
  const spec = { server: field.address(), user: field.string() };
  const key = (conf: Record<string, unknown>) => connectionKey(spec, conf);
  assert.is(key({ server: 's', topic: 'a' }), key({ topic: 'b', server: 's' }));
  assert.is.not(key({ server: 's' }), key({ server: 's', user: 'u' }));
});

/** A connector that needs packages; its sink fails to load for the reason. */
function heavy(load: () => Promise<never>) {
  return defineConnector({
    name: 'heavy',
    doc: '',
    packages: ['heavy-client', '@heavy/native'],
    sink: { props: {}, form: { takes: 'messages', framing: 'messages' }, load },
  });
}

const notFound = (what: string) => () =>
  Promise.reject(
    Object.assign(new Error(`Cannot find package '${what}' imported from x.mjs`), { code: 'ERR_MODULE_NOT_FOUND' }),
  );

test('a package that is not installed is named, with what to do', async () => {
  for (const name of ['heavy-client', '@heavy/native']) {
    const error: unknown = await heavy(notFound(name))
      .sink?.load()
      .catch((reason) => reason);
    assert.instance(error, HaumeaError);
    assert.is((error as HaumeaError).kind, 'config');
    const text = `the heavy sink needs the package ${name}, which is not installed: npm install ${name}`;
    assert.is((error as HaumeaError).message, text);
  }
});

test('any other failure of loading stays what it is', async () => {
  const broken = heavy(() => Promise.reject(new Error('wrong processor')));
  await broken.sink?.load().then(
    () => assert.unreachable(),
    (error) => assert.is(error.message, 'wrong processor'),
  );
  const other = heavy(notFound('left-pad'));
  await other.sink?.load().then(
    () => assert.unreachable(),
    (error) => assert.match(error.message, /left-pad/),
  );
});

test('a part is loaded once, and made by checked properties', async () => {
  let loads = 0;
  const made: unknown[] = [];
  const { sink } = defineConnector({
    name: 'light',
    doc: '',
    connection: { props: { server: field.string().default('here') } },
    sink: {
      props: { size: field.int().default(3) },
      form: { takes: 'messages', framing: 'messages' },
      load: async () => {
        loads++;
        return (conf) => {
          made.push(conf);
          return { open: async () => {}, write: () => {}, flush: async () => {}, close: async () => {} };
        };
      },
    },
  });
  const context = {} as SinkContext;
  assert.throws(() => sink?.create({}, context), /the light sink is not loaded/);
  await sink?.load();
  await sink?.load();
  sink?.create({ size: '5' }, context);
  assert.equal([loads, made], [1, [{ server: 'here', size: 5 }]]);
});

test('properties are read once for all who ask whether there is something to read', () => {
  const seen: object[] = [];
  const connector = defineConnector({
    name: 'shelf',
    doc: 'A shelf',
    source: {
      props: { height: field.int().default(1).doc('Its height') },
      form: () => ({ framing: 'frames', format: undefined }) as never,
      absent: (conf: object, dataSource: string) => {
        seen.push(conf);
        return dataSource === 'empty' ? 'nothing is there' : undefined;
      },
      load: () => Promise.reject(new Error('not asked for')),
    },
  } as unknown as Parameters<typeof defineConnector>[0]);
  const props = { height: 2 };
  const ask = (given: object, dataSource: string) =>
    connector.source?.absent?.(given as Record<string, unknown>, dataSource, AllowedPaths.any());
  assert.is(ask(props, 'full'), undefined);
  assert.is(ask(props, 'empty'), 'nothing is there');
  assert.is(ask({ height: 3 }, 'full'), undefined);
  assert.is(seen[0], seen[1]);
  assert.equal(seen, [{ height: 2 }, { height: 2 }, { height: 3 }]);
});

test.run();
