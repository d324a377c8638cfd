/** Streams that one data plane reads and hands to others, as the control plane keeps them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import type { RuleStart, SourceSpec } from '../../../../../host/run/link/protocol.js';
import { HandOvers } from '../../../../../host/run/planes/placement/hand-overs.js';
import type { Supervisor } from '../../../../../host/run/planes/supervisor.js';

/** Hand-overs of a stream that is read in data plane 0, and the commands that this gets. */
function oneStream() {
  const commands: string[] = [];
  /** What data plane 0 has got as the source of a run. */
  const sources: SourceSpec[] = [];
  const answers = { hold: true };
  const planes = [0, 1].map((number) => ({
    number,
    command: (command: { kind: string; rule?: RuleStart; sources?: SourceSpec[] }) => {
      commands.push(command.kind);
      sources.push(...(command.rule?.sources ?? command.sources ?? []));
    },
    ask: async () => answers.hold,
  }));
  let lastRun = 100;
  const handOvers = new HandOvers();
  handOvers.open({
    planeAt: (number) => planes[number] as unknown as Supervisor,
    nextRun: () => ++lastRun,
    keeperPlace: () => 0,
    join: () => {},
    log: silent,
  });
  const props = { server: 'tcp://127.0.0.1:1883', password: 'first' };
  const spec = { name: 's', type: 'mqtt', isShared: true, props } as unknown as SourceSpec;
  const [reader, other] = planes as unknown as [Supervisor, Supervisor];
  const start = (run: number, own = spec) =>
    handOvers.sourcesFor({ run, sources: [own] } as unknown as RuleStart, other);
  start(1);
  handOvers.noticed({ kind: 'started', run: lastRun });
  commands.length = 0;
  return { handOvers, commands, sources, answers, spec, start, reader };
}

test('a stream flows again when the last of the moves that hold it is over', async () => {
  const { handOvers, commands } = oneStream();
  const first = await handOvers.hold(['s'], []);
  const second = await handOvers.hold(['s'], []);
  first!.release();
  assert.equal(commands, []);
  second!.release();
  assert.equal(commands, ['release']);
});

test('a move that does not come about leaves the stream to one that holds it', async () => {
  const { handOvers, commands, answers } = oneStream();
  const first = await handOvers.hold(['s'], []);
  answers.hold = false;
  assert.is(await handOvers.hold(['s'], []), undefined);
  assert.equal(commands, []);
  first!.release();
  assert.equal(commands, ['release']);
});

test('a stream that is handed over begins again with its new password, and stays one', async () => {
  const { handOvers, commands, sources, spec, start, reader } = oneStream();
  const next = { ...spec, props: { ...spec.props, password: 'second' } };
  handOvers.renew([next]);
  assert.equal(commands, ['renew']);
  assert.is(sources.at(-1), next);
  const [handed] = start(2, next);
  assert.equal(handed?.handed, { key: 1, from: 0, to: 1 }, 'rules that come read it with the others');
  assert.equal(commands.splice(0), ['renew']);
  handOvers.lost(reader);
  assert.equal(commands, ['start']);
  assert.is(sources.at(-1), next);
});

test('a stream of many rules is told of its new password once', () => {
  const { handOvers, commands, spec } = oneStream();
  // As each of its rules is renewed.
  const renewAll = (password: string) => {
    for (let rule = 0; rule < 3; rule++) handOvers.renew([{ ...spec, props: { ...spec.props, password } }]);
  };
  renewAll('second');
  assert.equal(commands, ['renew']);
  renewAll('first');
  assert.equal(commands, ['renew', 'renew']);
});

test('what differs in more than a password, or is another stream of the name, is left to the next start', async () => {
  const { handOvers, commands, sources, spec, reader } = oneStream();
  handOvers.renew([{ ...spec, props: { ...spec.props, server: 'tcp://127.0.0.1:1884' } }]);
  // The part of a divided rule gets its rows by memory.
  handOvers.renew([{ ...spec, type: 'memory', isShared: false, props: {} }]);
  const held = await handOvers.hold(['s'], []);
  held!.release();
  assert.equal(commands, ['release'], 'the stream at work was held, and no other began');
  handOvers.lost(reader);
  assert.equal(sources.at(-1), spec);
});

test.run();
