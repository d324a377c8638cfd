/**
 * Requests with the answers they must have, sent over HTTP to a running server. Each answer is held against its schema
 * in the OpenAPI document; a refusal, and a question, must leave everything as it was.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { LossRepository } from '../../../host/meta/journal/losses.js';
import { type Answer, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { type Json, misfit } from '../../support/rest/schema-check.js';
import { closeConnections, FormBody, sendRaw } from './http.js';

/** A request that must succeed before; `pick` waits for what stands for `{{value}}` in the path that follows. */
export type Given = readonly [request: string, body?: unknown, pick?: (answer: Answer) => string | undefined];

/**
 * A request with its answer: the path, the body, the status, and what the answer must contain. A refusal leaves
 * everything as it was, but for one that `changes`: an order that is kept although it fails now.
 */
export type Row = readonly [path: string, body: unknown, status: number, says: string, effect?: 'changes'];

export interface Case {
  /** Method and path as in the OpenAPI document. */
  readonly op: string;
  readonly given: readonly Given[];
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly says: string;
  readonly isQuestion: boolean;
}

/** Cases of one operation that begin alike. */
export function cases(op: string, given: readonly Given[], ...rows: readonly Row[]): Case[] {
  return rows.map(([path, body, status, says, effect]) => {
    const isQuestion = (op.startsWith('GET ') || status >= 400) && effect === undefined;
    return { op, given, path, body, status, says, isQuestion };
  });
}

export function nameOf({ op, path, body, status, says }: Case): string {
  const sent = body === undefined ? '' : ` ${body instanceof FormBody ? 'form' : JSON.stringify(body).slice(0, 80)}`;
  return `${op}: ${path.slice(0, 80)}${sent} → ${status} ${says.slice(0, 60)}`;
}

export class CaseRunner {
  readonly #base: string;
  readonly #document: Json;
  /** What the server was given; undefined when a request may have changed more than that. */
  #present: readonly Given[] | undefined;
  #value = '';

  constructor(base: string, document: Json) {
    this.#base = base;
    this.#document = document;
  }

  /** Sends the request of a case and checks everything about its answer. */
  async run(one: Case): Promise<void> {
    await this.prepare(one.given);
    const { isQuestion } = one;
    const before = isQuestion ? await this.snapshot() : '';
    this.checkAnswer(one, await this.ask(one));
    if (!isQuestion) return;
    assert.is(await this.snapshot(), before, 'nothing changes');
    this.#present = one.given;
  }

  /** Sends the request of a case. */
  ask(one: Case): Promise<Answer> {
    const [method = ''] = one.op.split(' ', 1);
    this.#present = undefined;
    return this.send(method, one.path.replace('{{value}}', this.#value), one.body);
  }

  /** Holds an answer against what is expected and against the document. */
  checkAnswer({ op, status, says }: Pick<Case, 'op' | 'status' | 'says'>, answer: Answer): void {
    assert.is(answer.status, status, `${answer.status} ${answer.text}`);
    assert.ok(saidIn(answer).includes(says), `${JSON.stringify(says)} is expected: ${answer.text}`);
    const misfitting = this.answerMisfit(op, answer);
    assert.is(misfitting, undefined, misfitting);
  }

  /** Everything that clients have defined, with the states of rules. */
  async snapshot(): Promise<string> {
    const answers = [await this.send('GET', '/data/export'), await this.send('GET', '/rules')];
    return answers.map(({ text }) => text).join('\n');
  }

  /** Leaves nothing that clients have defined. */
  async reset(): Promise<void> {
    const answer = await this.send('POST', '/data/import', { content: '{}' });
    assert.is(answer.status, 200, answer.text);
    this.#present = undefined;
  }

  /** Says what is wrong with the media type or the form of an answer; undefined when nothing is. */
  answerMisfit(op: string, { status, text, type }: Pick<Answer, 'status' | 'text' | 'type'>): string | undefined {
    const [method = '', path = ''] = op.split(' ');
    const operation = this.#document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) return `${op} is not in the document`;
    const described = operation.responses[status];
    if (described === undefined) return `${op}: status ${status} is not described`;
    // Nothing of the program's inside is shown.
    if (/\n\s+at |node_modules|\.ts:\d/.test(text)) return `${op}: a stack trace in the answer`;
    if (described.content === undefined) return text === '' ? undefined : `${op} ${status}: no body is described`;
    const media = type.split(';', 1)[0] ?? '';
    const content = described.content[media];
    if (content === undefined) return `${op} ${status}: ${Object.keys(described.content)} is described, not ${media}`;
    const isJson = media === 'application/json' || content.schema.$ref !== undefined;
    return isJson ? misfit(this.#document, content.schema, JSON.parse(text)) : undefined;
  }

  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return sendRaw(this.#base, method, path, body);
  }

  /** Makes the server have what a case begins with, and nothing else. */
  async prepare(given: readonly Given[]): Promise<void> {
    if (this.#present === given) return;
    await this.reset();
    for (const [request, body, pick] of given) {
      const [method = '', path = ''] = request.split(' ');
      const ask = async () => {
        const answer = await this.send(method, path.replace('{{value}}', this.#value), body);
        assert.ok(answer.status < 300, `given ${request}: ${answer.status} ${answer.text}`);
        return answer;
      };
      if (pick === undefined) await ask();
      else this.#value = await eventually(`an answer to ${request}`, async () => pick(await ask()));
    }
    // On a busy machine an order is answered before it is done.
    const isMoving = async () => /"status":"St(art|opp)ing"/.test((await this.send('GET', '/rules')).text);
    await eventually('rules at rest', async () => !(await isMoving()));
  }
}

export interface TestedServer {
  readonly server: TestServer;
  /** What it says about its interface. */
  readonly document: Json;
  readonly runner: CaseRunner;
  close(): Promise<void>;
}

/** Starts a server whose requests may name addresses of this machine, and a runner of cases against it. */
export async function openServer(): Promise<TestedServer> {
  const data = temporaryFolder();
  const store = await openStore({ path: join(data, 'sqliteKV.db'), log: silent });
  const lost = (name: string) => ({ resource: 'rule', name, what: 'definition' as const, reason: 'of a test' });
  await new LossRepository(store).add(Array.from({ length: 20 }, (_, i) => lost(`gone-${i}`)));
  await store.close();
  mkdirSync(join(data, 'reports/nightly'), { recursive: true });
  writeFileSync(join(data, 'reports/nightly/first.json'), JSON.stringify({ results: [] }));
  const server = await startServer({ data, env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
  const document: Json = (await server.request('GET', '/openapi.json')).json;
  const close = async () => {
    closeConnections();
    await server.stop();
  };
  return { server, document, runner: new CaseRunner(server.base, document), close };
}

/** The text as it is, or the message of a refusal. */
function saidIn(answer: Answer): string {
  if (answer.status < 400 || !answer.type.startsWith('application/json')) return answer.text;
  const { message, msg } = answer.json;
  return String(message ?? msg);
}
