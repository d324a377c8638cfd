/**
 * The queue of the thread that plans large rules: its bounds, clients that go away, and a rule that takes all memory.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../../host/base/errors.js';
import type { Catalog } from '../../../../host/model/engine.js';
import { type PlanningBounds, PlanningThread } from '../../../../host/run/planning/thread.js';
import { parseStatement } from '../../../../host/sql/parser.js';
import { defineSource } from '../../../../host/sql/source-def.js';
import type { RulePlan } from '../../../../kernels/plan/ir.js';
import { ruleOf } from '../../../support/engine/engine-harness.js';

function definition() {
  const statement = parseStatement('CREATE STREAM demo () WITH (DATASOURCE="t", TYPE="memory")');
  if (statement.kind !== 'create') throw new Error('no CREATE');
  return defineSource(statement);
}

const demo = definition();
const looked: string[] = [];
const catalog = (rule: string): Catalog => ({
  source: (name) => {
    looked.push(rule);
    return name === 'demo' ? demo : undefined;
  },
  confKey: () => undefined,
  connection: () => undefined,
});

const sqlOf = (columns: number, each = '') =>
  `SELECT ${Array.from({ length: columns }, (_, i) => `a${i}${each} AS a${i}`)} FROM demo`;
const textOf = (answer: RulePlan | Error) => (answer instanceof Error ? answer.message : 'planned');

interface Asked {
  readonly id: string;
  readonly columns?: number;
  /** More of each column. */
  readonly each?: string;
  readonly signal?: AbortSignal;
  readonly isOwn?: boolean;
}

function order(thread: PlanningThread, { id, columns = 10, each, ...how }: Asked): Promise<RulePlan | Error> {
  const planned = thread
    .plan(ruleOf(id, sqlOf(columns, each), [['nop', {}]]), catalog(id), how)
    .then(({ plan }) => plan);
  return planned.catch((error: Error) => error);
}

/** Outcomes by rule: the number of columns, or the reason of the refusal with its kind. */
async function outcomes(bounds: Partial<PlanningBounds>, all: readonly Asked[], then = () => {}): Promise<unknown[]> {
  const thread = new PlanningThread({ maxValueBytes: undefined }, bounds);
  try {
    const answers = all.map((one) => order(thread, one));
    then();
    const found = await Promise.all(answers);
    return found.map((one) =>
      one instanceof Error
        ? `${one instanceof HaumeaError ? one.kind : 'fault'}: ${one.message}`
        : one.outputFields.length,
    );
  } finally {
    thread.close();
  }
}

const busy = (id: string, count: number, bound: string) =>
  `overload: rule ${id} can't be planned now: ${count} large rules wait to be planned already, ${bound}; try ` +
  'again later';

test('more rules than the bound are refused at once, those before them are planned', async () => {
  const found = await outcomes({ maxWaiting: 2 }, [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }, { id: 'e' }]);
  assert.equal(found, [10, 10, 10, busy('d', 2, '2 are allowed'), busy('e', 2, '2 are allowed')]);
});

test('what the server itself needs is taken beyond the bound', async () => {
  assert.equal(await outcomes({ maxWaiting: 1 }, [{ id: 'a' }, { id: 'b' }, { id: 'c', isOwn: true }]), [10, 10, 10]);
});

test('rules that are too long together are refused, one alone is not', async () => {
  const [one, other] = [sqlOf(1000).length, sqlOf(10).length].map(
    (length) => length + '[{"type":"nop","props":{}}]null'.length,
  );
  const all = [{ id: 'a' }, { id: 'b', columns: 1000 }, { id: 'c' }];
  const bound = `with this one they have ${one! + other!} bytes, 4000 are allowed`;
  assert.equal(await outcomes({ maxWaitingBytes: 4000 }, all), [10, 1000, busy('c', 1, bound)]);
});

test('a rule whose client has gone away is not planned, and makes room', async () => {
  looked.length = 0;
  const [gone, late] = [new AbortController(), new AbortController()];
  late.abort();
  const thread = new PlanningThread({ maxValueBytes: undefined }, { maxWaiting: 1 });
  const first = order(thread, { id: 'a' });
  const left = order(thread, { id: 'b', signal: gone.signal });
  gone.abort();
  const next = order(thread, { id: 'c' });
  const never = await order(new PlanningThread({ maxValueBytes: undefined }), { id: 'd', signal: late.signal });
  assert.not.instance(await first, Error);
  const unwanted = (id: string) => `rule ${id} was not planned: nobody waits for the answer any more`;
  assert.equal([textOf(await left), textOf(never)], [unwanted('b'), unwanted('d')]);
  assert.not.instance(await next, Error);
  assert.equal([...new Set(looked)], ['a', 'c']);
  thread.close();
});

test('a rule that takes all memory of the thread is refused alone', async () => {
  const found = await outcomes({ maxHeapMb: 48 }, [
    { id: 'a' },
    { id: 'huge', columns: 4000, each: ' + 1.5 * b'.repeat(11) },
    { id: 'b' },
    { id: 'c' },
  ]);
  assert.equal(found, [10, "general: rule huge can't be planned: planning it takes more than 48 MB of memory", 10, 10]);
});

test('an end of the server ends what waits', async () => {
  const thread = new PlanningThread({ maxValueBytes: undefined });
  const answers = [order(thread, { id: 'a' }), order(thread, { id: 'b' })];
  thread.close();
  assert.equal((await Promise.all(answers)).map(textOf), ['the server is stopping', 'the server is stopping']);
});

test.run();
