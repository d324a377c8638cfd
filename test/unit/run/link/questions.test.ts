/** Questions to a data plane: answers come by number, and one comes always. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ask, answerTo, OpenQuestions, type Respondent } from '../../../../host/run/link/questions.js';
import { KernelError } from '../../../../kernels/memory/error.js';

const respondent: Respondent = {
  status: (run) => ({ metrics: { run }, message: '', troubles: [] }),
  resetSource: () => undefined,
  hold: () => false,
  readyToMove: () => [],
  readAhead: () => {},
  tableRows: (run) => [{ emitter: `of ${run}`, content: '{}' }],
  failedRows: () => [],
  traced: () => false,
  troubles: () => [],
  traffic: () => [],
  cpuTimes: async () => [[1, 5]],
  memory: () => [[1, 7]],
  threadMemory: () => ({
    heapBytes: 1,
    bufferBytes: 2,
    kernelBytes: 3,
    kernelUsedBytes: 4,
    userCode: { maxBytes: 5, owners: [] },
  }),
  exchanges: () => [],
  figures: () => ({ names: [], runs: [] }),
  latencies: () => [],
  portableStates: () => [],
  serviceFigures: () => [],
  portableAggregates: () => [],
  keptNumbers: () => undefined,
};

const unexpected = (question: string, reason: string): void => assert.unreachable(`${question}: ${reason}`);

test('each question gets its own answer, in whatever order they come', async () => {
  const open = new OpenQuestions(unexpected);
  const sent: Ask[] = [];
  const send = (ask: Ask) => sent.push(ask);
  const answers = [
    open.ask(send, 'memory', []),
    open.ask(send, 'cpuTimes', []),
    open.ask(send, 'tableRows', [4]),
    open.ask(send, 'status', [9]),
  ] as const;
  for (const ask of sent.toReversed()) open.take(await answerTo(ask, respondent));
  const [memory, cpuTimes, rows, status] = await Promise.all(answers);
  assert.equal([memory, cpuTimes, rows], [[[1, 7]], [[1, 5]], [{ emitter: 'of 4', content: '{}' }]]);
  assert.equal(status?.metrics, { run: 9 });
});

test(
  'when the data plane dies its questions have the answers of their terms, and what comes late changes ' + 'nothing',
  async () => {
    const open = new OpenQuestions(unexpected);
    const sent: Ask[] = [];
    const asked = [
      open.ask((ask) => sent.push(ask), 'status', [1]),
      open.ask((ask) => sent.push(ask), 'tableRows', [1]),
      open.ask((ask) => sent.push(ask), 'troubles', []),
      open.ask((ask) => sent.push(ask), 'cpuTimes', []),
    ] as const;
    open.giveUp();
    open.take(await answerTo(sent[0]!, respondent));
    assert.equal(await Promise.all(asked), [undefined, [], undefined, []]);
  },
);

test('a question that fails is answered with the reason, and the next one as ever', async () => {
  const failed: string[] = [];
  const open = new OpenQuestions((question, reason) => failed.push(`${question}: ${reason}`));
  const sent: Ask[] = [];
  const asked = [
    open.ask((ask) => sent.push(ask), 'tableRows', [1]),
    open.ask((ask) => sent.push(ask), 'cpuTimes', []),
    open.ask((ask) => sent.push(ask), 'memory', []),
  ] as const;
  const failing: Respondent = {
    ...respondent,
    tableRows: () => {
      throw new KernelError('memory is exhausted', false);
    },
    cpuTimes: async () => {
      throw new Error('no times');
    },
  };
  for (const ask of sent) open.take(await answerTo(ask, failing));
  assert.equal(await Promise.all(asked), [[], [], [[1, 7]]]);
  assert.equal(failed, ['tableRows: memory is exhausted', 'cpuTimes: no times']);
});

test('a kernel that has failed ends the thread', async () => {
  const broken: Respondent = {
    ...respondent,
    memory: () => {
      throw new KernelError('the kernel failed', true);
    },
  };
  const answer = answerTo({ kind: 'ask', number: 1, question: 'memory', args: [] }, broken);
  const outcome = await answer.catch((error: unknown) => error);
  assert.instance(outcome, KernelError);
});

test.run();
