/** New rules start while their definitions are on the way to the disk, and go when these do not get there. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ruleOptionSpec } from '../../../host/base/config/config-spec.js';
import { parse } from '../../../host/base/fields/field.js';
import { silent } from '../../../host/base/log/log.js';
import { RuleRepository } from '../../../host/meta/definitions/rules.js';
import type { StoreChange } from '../../../host/meta/store.js';
import { ValueStore } from '../../../host/meta/values.js';
import type { Catalog, RuleDefinition } from '../../../host/model/engine.js';
import { RuleRegistry } from '../../../host/services/rules/registry.js';
import { EngineDouble } from '../../support/rest/engine-double.js';

/** A store whose disk answers when it is told to. */
class SlowStore extends ValueStore {
  answer: (error?: Error) => void = () => {};

  protected async write(changes: readonly StoreChange[]): Promise<void> {
    const before = this.apply(changes);
    const error = await new Promise<Error | undefined>((resolve) => {
      this.answer = resolve;
    });
    if (error === undefined) return;
    this.apply(before.reverse());
    throw error;
  }

  async close(): Promise<void> {}
}

class AheadEngine extends EngineDouble {
  startsAhead = ({ options }: RuleDefinition): boolean => options.qos === 0;
}

const json = (id: string, options: object = {}) => ({
  id,
  sql: 'SELECT a FROM s',
  actions: [{ nop: {} }],
  options: { ...options },
});

function open() {
  const engine = new AheadEngine({ source: () => ({}) } as unknown as Catalog);
  const store = new SlowStore(new Map());
  const registry = new RuleRegistry(new RuleRepository(store), engine, parse(ruleOptionSpec, {}), silent);
  const install = (...args: Parameters<typeof json>) => {
    const { json: read, rule } = registry.read(json(...args));
    return registry.install(read, rule);
  };
  return { engine, store, registry, install };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a new rule starts while the disk takes its definition, and the answer waits for both', async () => {
  const { engine, store, install } = open();
  let isAnswered = false;
  const installed = install('r').then(() => {
    isAnswered = true;
  });
  await turn();
  assert.is(engine.state('r'), 'running');
  assert.not.ok(isAnswered);
  store.answer();
  await installed;
  assert.is(engine.state('r'), 'running');
});

test('a rule whose definition did not get to the disk is gone', async () => {
  const { engine, store, registry, install } = open();
  const refused = install('r').then(
    () => 'installed',
    (error: Error) => error.message,
  );
  await turn();
  assert.is(engine.state('r'), 'running');
  store.answer(new Error('the disk is full'));
  assert.is(await refused, 'the disk is full');
  assert.is(engine.state('r'), undefined);
  assert.equal(registry.rules.ids(), []);
});

test('a rule that leaves files waits for the disk, and so does an update', async () => {
  const { engine, store, install } = open();
  const safe = install('safe', { qos: 1 });
  await turn();
  assert.is(engine.state('safe'), 'stopped');
  store.answer();
  await safe;
  assert.is(engine.state('safe'), 'running');
  await engine.stop('safe');
  const updated = install('safe');
  await turn();
  assert.is(engine.state('safe'), 'stopped');
  store.answer();
  await updated;
  assert.is(engine.state('safe'), 'running');
});

test.run();
