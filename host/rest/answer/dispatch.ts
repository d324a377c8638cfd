/** Finds the route of a path and runs it without a connection: for the parts of a batch. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Logger } from '../../base/log/log.js';
import { queryOf, RestRequest, type Route } from '../route/route.js';
import type { Services } from '../services.js';
import { answerOf, answerOfFailure, unknownPath, type WholeAnswer, wrongMethod } from './answer.js';

export interface DispatchOptions {
  readonly contentType?: string;
  /** False for a token that may only read. */
  readonly mayChange?: boolean;
}

interface Candidate {
  readonly route: Route<Services>;
  /** Parts between slashes; those with a colon take anything that is not empty. */
  readonly parts: readonly string[];
}

export class Dispatcher {
  /** Routes by the number of their parts, in the order of the table: the first that fits is taken. */
  readonly #byLength = new Map<number, Candidate[]>();
  readonly #services: Services;
  readonly #log: Logger;

  constructor(routes: readonly Route<Services>[], services: Services, log: Logger) {
    this.#services = services;
    this.#log = log;
    for (const route of routes) {
      const parts = partsOf(route.path);
      const sameLength = this.#byLength.get(parts.length) ?? [];
      this.#byLength.set(parts.length, sameLength);
      sameLength.push({ route, parts });
    }
  }

  /** Answers a request; never rejects. `target` is a path with an optional query, or a whole address. */
  async dispatch(
    method: string,
    target: string,
    body: Buffer,
    { contentType = 'application/json', mayChange = true }: DispatchOptions = {},
  ): Promise<WholeAnswer> {
    try {
      // Two slashes at the start are no host, as over HTTP.
      const { pathname, searchParams } = new URL(target.startsWith('/') ? `http://localhost${target}` : target);
      const parts = partsOf(pathname);
      const fitting = (this.#byLength.get(parts.length) ?? []).filter((candidate) => fits(candidate, parts));
      const wanted = method === 'HEAD' ? 'GET' : method;
      const found = fitting.find(({ route }) => route.method === wanted);
      if (found === undefined) return fitting.length === 0 ? unknownPath : wrongMethod;
      if (method === 'HEAD' && found.route.isOrder) return wrongMethod;
      const params: Record<string, string> = {};
      found.parts.forEach((part, i) => {
        if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(parts[i] as string);
      });
      const query = queryOf(searchParams);
      const request = new RestRequest(params, query, body, contentType, undefined, mayChange);
      const answer = await answerOf(found.route, request, this.#services);
      const { body: given } = answer;
      if (method === 'HEAD') return { ...answer, body: '' };
      return { ...answer, body: given instanceof Readable ? await text(given) : given };
    } catch (error) {
      return answerOfFailure(error, `${method} ${target}`, this.#log);
    }
  }
}

function partsOf(path: string): string[] {
  return path.split('/').slice(1);
}

function fits({ parts: wanted }: Candidate, parts: readonly string[]): boolean {
  return wanted.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]));
}
