/** Server-sent events: the result of a test rule. */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { reasonOf } from '../../base/errors.js';
import { RequestError } from './rest-client.js';

export interface EventStream {
  /** Resolves when the server has closed the stream, rejects when it breaks. */
  readonly ended: Promise<void>;
  close(): void;
}

/**
 * Opens an event stream. Resolves once the request has been sent: the head of the answer may come with the first event
 * only. `take` gets the data of each event, `note` the comments: what the server says besides.
 */
export function openEvents(
  url: string,
  token: string | undefined,
  take: (data: string) => void,
  note: (text: string) => void = () => {},
): Promise<EventStream> {
  return new Promise((opened, failed) => {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (token !== undefined) headers.authorization = token;
    const request = (url.startsWith('https:') ? requestHttps : requestHttp)(url, { headers });
    let isClosed = false;
    const ended = new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => {
        if (isClosed) return resolve();
        const error = new RequestError(`event stream ${url}: ${reason}`);
        failed(error);
        reject(error);
      };
      request.on('error', (error: NodeJS.ErrnoException) => fail(reasonOfFailure(error)));
      request.on('response', (response) => {
        if (response.statusCode !== 200) {
          response.resume();
          return fail(`status ${response.statusCode}`);
        }
        read(response, take, note);
        response.on('end', resolve);
        response.on('error', (error) => fail(reasonOf(error)));
      });
    });
    // Whoever waits for the stream sees the failure; nobody has to.
    ended.catch(() => {});
    request.on('finish', () => {
      opened({
        ended,
        close: () => {
          isClosed = true;
          request.destroy();
        },
      });
    });
    request.end();
  });
}

function reasonOfFailure(error: NodeJS.ErrnoException): string {
  if (error.code === 'EPROTO' || error.code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return (
      'the event server speaks http, although REST speaks https: --events-url http://HOST:PORT reaches it; ' +
      'source.httpServerTls of the server gives it TLS'
    );
  }
  return reasonOf(error) || String(error.code);
}

/** Collects data lines until the blank line that ends an event. */
function read(response: IncomingMessage, take: (data: string) => void, note: (text: string) => void): void {
  let rest = '';
  let data: string[] = [];
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() as string;
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line.startsWith(':') && line.length > 1) note(line.slice(1).trim());
      else if (line === '' && data.length > 0) {
        take(data.join('\n'));
        data = [];
      }
    }
  });
}
