/** Large rules are planned in a thread: what it is told is what holds, and what it can't be told stops nobody else. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../../host/base/errors.js';
import { parseStatement } from '../../../../host/sql/parser.js';
import { defineSource, type StreamDefinition } from '../../../../host/sql/source-def.js';
import { openEngine, ruleOf } from '../../../support/engine/engine-harness.js';

const columns = (name: string) => Array.from({ length: 600 }, (_, i) => `${name}${i}`);

function streamOf(name: string): StreamDefinition {
  const list = columns(name).map((column) => `${column} BIGINT`);
  const statement = parseStatement(`CREATE STREAM wide (${list}) WITH (DATASOURCE="t", TYPE="memory")`);
  if (statement.kind !== 'create') throw new Error('no CREATE');
  return defineSource(statement);
}

const without = { confKey: () => undefined, connection: () => undefined };

test('a stream that is replaced while its rule is planned counts as it is then', async () => {
  let stream = streamOf('a');
  const second = streamOf('b');
  const catalog = {
    ...without,
    source: () => stream,
    // The thread is told of these behind the stream.
    sourceNames: () => {
      stream = second;
      return ['wide'];
    },
  };
  const { engine, close } = openEngine({ catalog });
  const rule = ruleOf('r', 'SELECT * FROM wide', [['nop', {}]]);
  await engine.prepare(rule);
  assert.is(stream, second);
  assert.equal(engine.outputFields(rule), columns('b'));
  await close();
});

test('a stream that can not be read refuses the rule that reads it, and the next one is planned', async () => {
  const wide = streamOf('a');
  const source = (name: string) => {
    if (name === 'broken') throw new HaumeaError('general', 'the record of broken can not be read');
    return wide;
  };
  const { engine, close } = openEngine({ catalog: { ...without, source } });
  const broken = ruleOf('r', `SELECT ${columns('verylongname')} FROM broken`, [['nop', {}]]);
  const reason = await engine.prepare(broken).catch((error: HaumeaError) => error.message);
  assert.is(reason, 'the record of broken can not be read');
  const next = ruleOf('s', 'SELECT * FROM wide', [['nop', {}]]);
  await engine.prepare(next);
  assert.equal(engine.outputFields(next), columns('a'));
  await close();
});

test.run();
