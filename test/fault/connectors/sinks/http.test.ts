/** Faults of servers that sinks send requests to: one for rows, and one that answers as taosAdapter does. */
import { test } from 'uvu';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { type HttpDouble, openHttp, type Received } from '../../../support/connectors/http-server.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort } from '../../../support/harness.js';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A server that hangs when it is told to; `answerTo` says what it answers to a request. */
async function openSide(port: number, answerTo: (request: Received) => Answer) {
  let server: HttpDouble | undefined;
  let waiting: (() => void)[] | undefined;
  const side = {
    start: async () => {
      server = await openHttp(port);
      server.answer = (response, request) => {
        const answer = () => {
          const { status, text } = answerTo(request);
          response.statusCode = status;
          response.end(text);
        };
        if (waiting === undefined) answer();
        else waiting.push(answer);
      };
    },
    kill: async () => {
      await server?.close();
      server = undefined;
    },
    pause: () => {
      waiting = [];
    },
    resume: () => {
      const answers = waiting ?? [];
      waiting = undefined;
      for (const answer of answers) answer();
    },
    close: () => side.kill(),
  };
  await side.start();
  return side;
}

sinkFaults(test, 'rest', async () => {
  const port = await freePort();
  const ids: number[] = [];
  let bad = -1;
  let isFull = false;
  const side = await openSide(port, ({ body, headers }) => {
    if (headers.authorization === 'Bearer rest-wrong-51') return { status: 401, text: 'no such token' };
    if (isFull) return { status: 507, text: 'no room' };
    const found = idsOf([body]);
    if (found.includes(bad)) return { status: 422, text: 'no such id' };
    ids.push(...found);
    return { status: 200, text: '{}' };
  });
  return Object.assign(side, {
    props: { url: `http://127.0.0.1:${port}/rows`, method: 'post', timeout: '20s' },
    arrived: () => ids,
    refusal: {
      props: { headers: { Authorization: 'Bearer rest-wrong-51' } },
      reason: /401/,
      secret: 'rest-wrong-51',
    },
    tls: {
      props: (to: number) => ({ url: `https://127.0.0.1:${to}/rows`, insecureSkipVerify: false }),
      plainPort: port,
    },
    rejects: {
      prepare: (id: number) => {
        bad = id;
      },
      reason: /status 422: no such id/,
    },
    full: {
      fill: () => {
        isFull = true;
      },
      free: () => {
        isFull = false;
      },
      reason: /507/,
    },
  });
});

sinkFaults(
  test,
  'tdengine3',
  async (): Promise<SinkSide> => {
    const port = await freePort();
    const ids: number[] = [];
    let bad = -1;
    let isFull = false;
    const answer = (code: number, desc: string) => ({ status: 200, text: JSON.stringify({ code, desc }) });
    const side = await openSide(port, ({ body, headers }) => {
      if (headers.authorization !== `Basic ${Buffer.from('rows:right').toString('base64')}`) {
        return { status: 401, text: JSON.stringify({ code: 0x0357, desc: 'Authentication failure' }) };
      }
      if (!body.startsWith('INSERT')) return answer(0, '');
      if (isFull) return answer(0x0338, 'No enough disk space');
      const found = [...body.matchAll(/values \(now,(\d+)/g)].map(([, id]) => Number(id));
      if (found.includes(bad)) return answer(0x0216, 'Syntax error in SQL');
      ids.push(...found);
      return answer(0, '');
    });
    return Object.assign(side, {
      props: {
        ...{ host: '127.0.0.1', port, user: 'rows', password: 'right', timeout: '20s' },
        ...{ database: 'plant', table: 'meters', fields: ['id'], tsFieldName: 'ts' },
      },
      arrived: () => ids,
      refusal: { props: { password: 'td-wrong-52' }, reason: /Authentication failure/, secret: 'td-wrong-52' },
      rejects: {
        prepare: (id: number) => {
          bad = id;
        },
        reason: /Syntax error in SQL/,
      },
      full: {
        fill: () => {
          isFull = true;
        },
        free: () => {
          isFull = false;
        },
        reason: /No enough disk space/,
      },
    });
  },
  { lacks: { tls: 'the sink speaks plain HTTP', empty: 'it takes rows, not messages' } },
);

test.run();
