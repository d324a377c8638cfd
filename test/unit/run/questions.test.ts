/** Questions to a data plane: answers come by number, and one comes always. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Ask, answerTo, OpenQuestions, type Respondent } from '../../../host/run/link/questions.js';

const respondent: Respondent = {
  status: (run) => ({ metrics: { run }, message: '', troubles: [] }),
  tableRows: (run) => [{ emitter: `of ${run}`, content: '{}' }],
  troubles: () => [],
  cpuTimes: async () => [[1, 5]],
  memory: () => [[1, 7]],
  latencies: () => [],
};

test('each question gets its own answer, in whatever order they come', async () => {
  const open = new OpenQuestions();
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

test('when the data plane dies its questions have the answers of their terms, and what comes late changes nothing', async () => {
  const open = new OpenQuestions();
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
});

test.run();
