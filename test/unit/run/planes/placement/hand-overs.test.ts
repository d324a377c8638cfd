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
  const answers = { hold: true };
  const planes = [0, 1].map((number) => ({
    number,
    command: ({ kind }: { kind: string }) => void commands.push(kind),
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
  const spec = { name: 's', type: 'mqtt', isShared: true, props: {} } as unknown as SourceSpec;
  handOvers.sourcesFor({ run: 1, sources: [spec] } as unknown as RuleStart, planes[1] as unknown as Supervisor);
  handOvers.noticed({ kind: 'started', run: lastRun });
  commands.length = 0;
  return { handOvers, commands, answers };
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

test.run();
