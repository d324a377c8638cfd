/** Faults of a server that sinks send requests to. */
import { test } from 'uvu';
import { sinkFaults } from '../../support/connectors/faults/sinks.js';
import { type HttpDouble, openHttp } from '../../support/connectors/http-server.js';
import { freePort } from '../../support/harness.js';

sinkFaults(test, 'rest', async () => {
  const port = await freePort();
  const ids: number[] = [];
  let server: HttpDouble | undefined;
  let waiting: (() => void)[] | undefined;
  return {
    props: { url: `http://127.0.0.1:${port}/rows`, method: 'post', timeout: '20s' },
    arrived: () => ids,
    start: async () => {
      server = await openHttp(port);
      server.answer = (response, { body }) => {
        const answer = () => {
          if (body !== '') ids.push((JSON.parse(body) as { id: number }).id);
          response.end('{}');
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
    close: async () => void (await server?.close()),
  };
});

test.run();
