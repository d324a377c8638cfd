/** Several requests in one: answered in their order, without a connection each. */
import { requestErrors } from './errors.js';

export interface BatchAnswer {
  /** HTTP status; 0 when the part is no request at all. */
  readonly code: number;
  /** Body of the answer; left out when it is empty. */
  readonly response?: string;
  readonly error?: string;
}

interface Part {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** Answers one request; the answer waits for the disk, what comes next does not have to. */
export type Dispatch = (
  method: string,
  target: string,
  body: Buffer,
  mayChange: boolean,
) => Promise<{ readonly answer: Promise<{ readonly status: number; readonly body: string | Buffer }> }>;

/** Time between two turns of the event loop, so that a long batch does not hold up other clients. */
const turnMs = 10;
/** Characters of all responses together; a text has an end, and memory, too. */
const maxResponses = 64 << 20;

export class BatchService {
  readonly #dispatch: Dispatch;

  constructor(dispatch: Dispatch) {
    this.#dispatch = dispatch;
  }

  /** Answers the parts one after the other; the failure of one does not concern the rest. */
  async run(body: unknown, mayChange: boolean): Promise<BatchAnswer[]> {
    const answers: Promise<BatchAnswer>[] = [];
    let room = maxResponses;
    const bounded = (answer: BatchAnswer): BatchAnswer => {
      const size = answer.response?.length ?? 0;
      if (size > room) return { code: answer.code, error: tooLong };
      room -= size;
      return answer;
    };
    let turn = performance.now();
    for (const part of readParts(body)) {
      answers.push((await this.#start(part, mayChange)).answer.then(bounded));
      if (performance.now() - turn < turnMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      turn = performance.now();
    }
    return Promise.all(answers);
  }

  async #start({ method, path, body }: Part, mayChange: boolean): Promise<{ answer: Promise<BatchAnswer> }> {
    const refused = (error: string) => ({ answer: Promise.resolve({ code: 0, error }) });
    // The characters that HTTP allows in a method.
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(method)) return refused(`invalid method ${quoted(method)}`);
    if (!isTarget(path)) return refused(`invalid path ${quoted(path)}`);
    const { answer } = await this.#dispatch(method, path, Buffer.from(body), mayChange);
    return { answer: answer.then(({ status, body }) => answerOf(status, body.toString())) };
  }
}

const tooLong = `the responses of the batch have more than ${maxResponses} characters, send this request by itself`;

function answerOf(code: number, response: string): BatchAnswer {
  return response === '' ? { code } : { code, response };
}

function readParts(body: unknown): Part[] {
  if (!Array.isArray(body)) throw requestErrors.batchNotList();
  return body.map((item: unknown, i) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      throw requestErrors.batchItem(i);
    }
    const text = (name: string, fallback: string): string => {
      const value = (item as Record<string, unknown>)[name] ?? fallback;
      if (typeof value === 'string') return value;
      throw requestErrors.batchMember(name, i);
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
