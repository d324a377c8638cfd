/** Sends rows as points. Each line has its time, so a point that is sent again replaces itself. */
import type { OutputChunk } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
import type { Parsed } from '../../base/fields/field.js';
import { type BatchContext, type BatchOptions, type BatchOutcome, BatchSender } from '../../http/batch-sender.js';
import type { HttpAnswer, HttpClientOptions, HttpRequest } from '../../http/client.js';
import { outcomeOf } from '../../http/outcome.js';
import { pingWith } from '../../http/ping.js';
import { PointWriter } from './points.js';
import type { PointConf, pointProps } from './props.js';

export interface InfluxConf extends Parsed<typeof pointProps>, Pick<PointConf, 'useLineProtocol'> {}

/** Where points go. */
export interface InfluxServer {
  /** Address of the server, without what follows `/`. */
  readonly addr: string;
  /** Path and query of requests that write. */
  readonly write: string;
  readonly headers: Readonly<Record<string, string>>;
  tls(): Promise<HttpClientOptions['tls']>;
}

const maxPoints = 5000;
const maxBytes = 1 << 20;
/** No right, no such database: it may be given or made, and nothing is wrong with the points. */
const laterStatus = new Set([401, 403, 404]);
/** All points of a request are among those that the server has dropped. */
const dropped = /\bdropped=(\d+)/;

export class PointSink {
  readonly peer: string;
  readonly #points: PointWriter;
  readonly #sender: BatchSender;
  readonly #isJson: boolean;

  constructor(
    readonly conf: InfluxConf,
    /** The server as properties name it, also after they were renewed. */
    readonly serverOf: (conf: InfluxConf) => InfluxServer,
    readonly context: BatchContext,
  ) {
    this.peer = `influx ${baseOf(serverOf(conf))}`;
    this.#points = new PointWriter(conf);
    this.#isJson = conf.dataTemplate !== '';
    this.#sender = new BatchSender(optionsOf(conf, serverOf(conf)), context);
  }

  renew(conf: InfluxConf): void {
    this.#sender.renew(optionsOf(conf, this.serverOf(conf)));
  }

  open(): Promise<void> {
    return this.#sender.open();
  }

  write({ bytes, ends, errors }: OutputChunk): void {
    let from = 0;
    for (const [place, end] of (ends ?? []).entries()) {
      const message = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from);
      from = end;
      const { lines } = this.#points;
      lines.clear();
      try {
        this.#add(message, errors.has(place));
        if (lines.bytes.length === 0) this.context.accepted(message.length, 1);
        else this.#sender.add(lines.bytes, message.length);
      } catch (error) {
        this.context.refused(message, message.length, 1, reasonOf(error));
      }
    }
  }

  flush(): Promise<void> {
    return this.#sender.flush();
  }

  async close(): Promise<void> {
    this.#sender.close();
  }

  #add(message: Buffer, isError: boolean): void {
    if (!this.#isJson) this.#points.addRows(message);
    else if (this.conf.useLineProtocol && !isError && !isJson(message)) this.#points.lines.add(message);
    else this.#points.addJson(message);
  }
}

function baseOf({ addr }: InfluxServer): string {
  return addr.replace(/\/+$/, '');
}

function optionsOf({ batchSize, lingerInterval: lingerMs, timeout }: InfluxConf, server: InfluxServer): BatchOptions {
  const base = baseOf(server);
  return {
    timeoutMs: timeout,
    batchSize,
    lingerMs,
    maxMessages: maxPoints,
    maxBytes,
    tls: () => server.tls(),
    probe: { method: 'get', url: `${base}/ping`, headers: server.headers },
    request: (body) => writeOf(server, body),
    outcome,
  };
}

function writeOf(server: InfluxServer, body: Buffer): HttpRequest {
  return {
    method: 'post',
    url: `${baseOf(server)}${server.write}`,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', ...server.headers },
    body,
  };
}

/** Writes no points; throws the reason when the server would not take any. */
export async function pingInflux(server: InfluxServer, timeoutMs: number): Promise<void> {
  await pingWith(writeOf(server, Buffer.alloc(0)), { tls: await server.tls(), timeoutMs }, (answer) => {
    // A request without points is a bad one to some servers, which have looked at the login before.
    return answer.status === 400 ? { is: 'taken' } : outcomeOf(answer, 'code');
  });
}

function isJson(message: Buffer): boolean {
  return /^\s*[[{]/.test(message.toString('latin1', 0, 64));
}

function outcome(answer: HttpAnswer, messages: number): BatchOutcome {
  const found = outcomeOf(answer, 'code');
  if (found.is !== 'refused') return found;
  if (laterStatus.has(answer.status)) return { is: 'later', reason: found.reason, afterMs: 0 };
  const count = dropped.exec(answer.body.toString('utf8', 0, 1 << 16))?.[1];
  return { ...found, isOfAll: Number(count) === messages };
}
