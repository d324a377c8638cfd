/** Questions from node to node, over requests of NATS: each is answered by the node that it names. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { reasonOf } from '../base/errors.js';
import { clusterErrors } from './errors.js';
import { encodeName } from './keys.js';

/** The questions, with what they give and what is answered. */
export type AskHandlers = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Answers of more characters are compressed: NATS takes messages of 1 MiB, and a node has many thousand rules. */
const longAnswer = 64 * 1024;
/** First byte of what is compressed, which no JSON begins with. */
const gzipByte = 0x1f;
/** Longest answer when it is unpacked. */
const maxOutputLength = 256 * 1024 * 1024;

interface Answer {
  readonly value?: unknown;
  /** The reason, when the node refuses. */
  readonly refusal?: string;
}

export class Asks {
  #subscription: Subscription | undefined;

  constructor(
    private readonly connection: NatsConnection,
    private readonly cluster: string,
  ) {}

  /** Answers the questions to this node. */
  answer(node: string, handlers: AskHandlers): void {
    this.#subscription = this.connection.subscribe(this.#subject(node), {
      callback: (_error, message) => void respond(message, handlers),
    });
  }

  /** Asks a node; rejects with its refusal, or that it does not answer. */
  async ask<T>(node: string, what: string, args: readonly unknown[], timeoutMs: number): Promise<T> {
    let answer: Answer;
    try {
      const options = { timeout: timeoutMs };
      const message = await this.connection.request(this.#subject(node), JSON.stringify([what, ...args]), options);
      answer = JSON.parse(await unpacked(message.data)) as Answer;
    } catch (error) {
      throw clusterErrors.silent(node, reasonOf(error), { cause: error });
    }
    if (answer.refusal !== undefined) throw clusterErrors.refused(answer.refusal);
    return answer.value as T;
  }

  /** Tells all nodes, without an answer. */
  tell(what: string, value: unknown): void {
    if (!this.connection.isClosed()) this.connection.publish(`${this.cluster}.${what}`, JSON.stringify(value));
  }

  hear<T>(what: string, take: (value: T) => void): void {
    this.connection.subscribe(`${this.cluster}.${what}`, {
      callback: (_error, message) => {
        const value = parsed<T>(message);
        if (value !== undefined) take(value);
      },
    });
  }

  close(): void {
    this.#subscription?.unsubscribe();
  }

  #subject(node: string): string {
    return `${this.cluster}.node.${encodeName(node)}`;
  }
}

async function respond(message: Msg, handlers: AskHandlers): Promise<void> {
  const question = parsed<[string, ...unknown[]]>(message);
  // Whoever may write to NATS can send anything.
  if (!Array.isArray(question)) return;
  const [what, ...args] = question;
  let answer: Answer;
  try {
    const handler = Object.hasOwn(handlers, what) ? handlers[what] : undefined;
    answer =
      handler === undefined
        ? { refusal: `the node does not know the question ${what}: it runs another version` }
        : { value: await handler(...(args as never[])) };
  } catch (error) {
    answer = { refusal: reasonOf(error) };
  }
  try {
    message.respond(await packed(answer));
  } catch (error) {
    try {
      message.respond(await packed({ refusal: `it can't answer: ${reasonOf(error)}` }));
    } catch {
      // The connection is closed: who asked is told that this node is silent.
    }
  }
}

async function packed(answer: Answer): Promise<string | Buffer> {
  const text = JSON.stringify(answer);
  return text.length <= longAnswer ? text : promisify(gzip)(text);
}

async function unpacked(data: Uint8Array): Promise<string> {
  const bytes = data[0] === gzipByte ? await promisify(gunzip)(data, { maxOutputLength }) : Buffer.from(data);
  return bytes.toString();
}

function parsed<T>(message: Msg): T | undefined {
  try {
    return message.json<T>();
  } catch {
    return undefined;
  }
}
