/** Metadata of messages, as texts. */
import type { MsgHdrs } from '@nats-io/transport-node';
import { Recent } from '../../base/structures/recent.js';

const mostSubjects = 1000;

export class Metas {
  readonly #plain = new Recent<string, Buffer>(mostSubjects, (subject) => Buffer.from(JSON.stringify({ subject })));
  readonly #starts = new Recent<string, string>(mostSubjects, (subject) => this.#start(subject));

  /** @param more metadata of all messages, by their subjects */
  constructor(private readonly more: (subject: string) => Readonly<Record<string, unknown>> = () => ({})) {}

  /** Metadata of a message that is in no stream. */
  of(subject: string, reply: string, headers: MsgHdrs | undefined): Buffer {
    if (reply === '' && headers === undefined) return this.#plain.get(subject);
    const replied = reply === '' ? {} : { reply };
    return Buffer.from(JSON.stringify({ subject, ...replied, ...headersIn(headers) }));
  }

  /** Metadata of a message of a stream; `time` is epoch ms. */
  inStream(subject: string, sequence: number, time: number, headers: MsgHdrs | undefined, operation?: string): Buffer {
    let text = `${this.#starts.get(subject)},"sequence":${sequence},"time":${time}`;
    if (operation !== undefined) text += `,"operation":${JSON.stringify(operation)}`;
    if (headers !== undefined) text += `,"headers":${JSON.stringify(headersIn(headers).headers ?? {})}`;
    return Buffer.from(`${text}}`);
  }

  #start(subject: string): string {
    return JSON.stringify({ subject, ...this.more(subject) }).slice(0, -1);
  }
}

/** Headers by name; one that comes several times has a list of values. */
function headersIn(headers: MsgHdrs | undefined): { headers?: Record<string, string | string[]> } {
  if (headers === undefined) return {};
  const found: Record<string, string | string[]> = {};
  for (const name of headers.keys()) {
    const values = headers.values(name);
    found[name] = values.length === 1 ? values[0]! : [...values];
  }
  return { headers: found };
}
