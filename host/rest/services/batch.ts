/** Several requests in one: answered in their order, without a connection each. */
import { HaumeaError } from '../../base/errors.js';

export interface BatchAnswer {
  /** HTTP status; 0 when the part is no request at all. */
  readonly code: number;
  /** Left out when it is empty. */
  readonly response?: string;
  readonly error?: string;
}

interface Part {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** Answers one request. */
export type Dispatch = (
  method: string,
  target: string,
  body: Buffer,
) => Promise<{ readonly status: number; readonly body: string | Buffer }>;

/** Parts between two turns of the event loop, so that a long batch does not hold up other clients. */
const turnParts = 64;

export class BatchService {
  readonly #dispatch: Dispatch;
  readonly #together: <T>(step: () => Promise<T>) => Promise<T>;

  /** `together` runs changes that share one wait for the disk; the batch is answered when they are there. */
  constructor(dispatch: Dispatch, together: <T>(step: () => Promise<T>) => Promise<T>) {
    this.#dispatch = dispatch;
    this.#together = together;
  }

  /** Answers the parts one after the other; the failure of one does not concern the rest. */
  run(body: unknown): Promise<BatchAnswer[]> {
    const parts = readParts(body);
    return this.#together(async () => {
      const answers: BatchAnswer[] = [];
      for (const part of parts) {
        answers.push(await this.#answer(part));
        if (answers.length % turnParts === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return answers;
    });
  }

  async #answer({ method, path, body }: Part): Promise<BatchAnswer> {
    // The characters that HTTP allows in a method.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(method)) return { code: 0, error: `invalid method ${quoted(method)}` };
    if (!isTarget(path)) return { code: 0, error: `invalid path ${quoted(path)}` };
    const { status, body: bytes } = await this.#dispatch(method, path, Buffer.from(body));
    const response = bytes.toString();
    return response === '' ? { code: status } : { code: status, response };
  }
}

function readParts(body: unknown): Part[] {
  if (!Array.isArray(body)) throw new HaumeaError('general', 'invalid body: a list of requests was expected');
  return body.map((item: unknown, i) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      throw new HaumeaError('general', `invalid body: request ${i} must be an object with method, path and body`);
    }
    const text = (name: string, fallback: string): string => {
      const value = (item as Record<string, unknown>)[name] ?? fallback;
      if (typeof value === 'string') return value;
      throw new HaumeaError('general', `invalid body: ${name} of request ${i} must be a text`);
    };
    return { method: text('method', '') || 'GET', path: text('path', ''), body: text('body', '') };
  });
}

/** Tells whether this is a path from the root with an optional query, or a whole address. */
function isTarget(text: string): boolean {
  return text.startsWith('/') ? URL.canParse(`http://localhost${text}`) : /^https?:/i.test(text) && URL.canParse(text);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
