/** The outcome of a request by its answer: taken, to be tried again later, or refused. */

import { reasonOf } from '../base/errors.js';
import { type HttpAnswer, Unreachable } from './client.js';

export type Outcome =
  | { readonly is: 'taken' }
  /**
   * The request may be tried again, after `afterMs` if the other side asks for a pause. `isOfRequest`: the answer does
   * not say that all requests would fare alike.
   */
  | { readonly is: 'later'; readonly reason: string; readonly afterMs: number; readonly isOfRequest?: boolean }
  | { readonly is: 'refused'; readonly reason: string };

const taken: Outcome = { is: 'taken' };
/** Most characters of an answer that a reason quotes. */
const maxText = 200;
/** Longest pause that the other side may ask for, ms. */
const maxAfterMs = 600_000;

export function outcomeOf(answer: HttpAnswer, responseType: 'code' | 'body'): Outcome {
  const ofStatus = outcomeOfCode('status', answer.status, answer);
  if (ofStatus.is !== 'taken' || responseType === 'code') return ofStatus;
  const codes = codesIn(answer.body);
  if (codes === undefined) return { is: 'refused', reason: `the answer is no JSON${textOf(answer)}` };
  for (const code of codes) {
    const outcome = outcomeOfCode('code', code, answer);
    if (outcome.is !== 'taken') return outcome;
  }
  return taken;
}

/** Outcome of a request without answer: when it can't be sent at all it is refused, else it may be tried again. */
export function outcomeOfError(error: unknown): Outcome {
  const reason = reasonOf(error);
  return error instanceof Unreachable ? { is: 'later', reason, afterMs: 0 } : { is: 'refused', reason };
}

function outcomeOfCode(what: string, code: number, answer: HttpAnswer): Outcome {
  if (code >= 200 && code <= 299) return taken;
  const reason = `${what} ${code}${textOf(answer)}`;
  const isLater = code === 408 || code === 429 || (code >= 500 && code <= 599);
  if (!isLater) return { is: 'refused', reason };
  const afterMs = afterMsOf(answer);
  return { is: 'later', reason, afterMs, isOfRequest: code !== 429 && afterMs === 0 };
}

function textOf({ body }: HttpAnswer): string {
  const text = body
    .toString('utf8', 0, maxText * 4)
    .slice(0, maxText)
    .trim();
  return text === '' ? '' : `: ${text}`;
}

/** Retry-After in seconds, or as a date. */
function afterMsOf({ headers }: HttpAnswer): number {
  const given = headers['retry-after'];
  if (typeof given !== 'string') return 0;
  const ms = /^\d+$/.test(given.trim()) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), maxAfterMs);
}

/** The members `code` of an object or of a list of objects, 0 where missing; undefined for a body that is no JSON. */
function codesIn(body: Buffer): number[] | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    const all: unknown[] = Array.isArray(value) ? value : [value];
    return all.map((one) => Number((one as { code?: unknown } | null)?.code ?? 0));
  } catch {
    return undefined;
  }
}
